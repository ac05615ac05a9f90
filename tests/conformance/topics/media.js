// Sound and film: metadata, playing, seeking, ranges. Source: HTML 4.8.11.
const loaded = (tag, src, attributes = {}) => new Promise((done) => {
  const one = add(tag, {preload: "auto", muted: "", ...attributes}).element;
  one.muted = true;
  one.onloadeddata = () => done(one);
  one.onerror = () => done(one);
  one.src = src;
});
const event = (one, name) => new Promise((done) => one.addEventListener(name, done, {once: true}));
const media = {"sound.wav": ["audio", 1], "film.webm": ["video", 2]};
for (const [name, [tag, length]] of Object.entries(media)) {
  check(`${name}: its length`, async () => Math.round((await loaded(tag, `/${name}?${uid()}`)).duration * 10) / 10, length);
  check(`${name}: it can be sought`, async () => {
    const one = await loaded(tag, `/${name}?${uid()}`), end = event(one, "seeked");
    one.currentTime = length / 2;
    await end;
    return [one.currentTime, one.seekable.length];
  }, [length / 2, 1]);
  check(`${name}: it plays to its end`, async () => {
    const one = await loaded(tag, `/${name}?${uid()}`), end = event(one, "ended");
    one.currentTime = length - 0.2;
    await one.play();
    await end;
    return one.ended;
  }, true);
  check(`${name}: how it is asked for`, async () => {
    const key = uid();
    await loaded(tag, `/${name}?key=${key}`);
    const [{headers}] = await seen(key);
    return ["range", "accept", "accept-encoding", "sec-fetch-dest", "sec-fetch-mode"].map((field) => headers[field] ?? "none");
  });
  check(`${name}: without ranges`, async () => Math.round((await loaded(tag, `/${name}?none=1&${uid()}`)).duration * 10) / 10, length);
  check(`${name}: of another origin`, async () => Math.round((await loaded(tag, `${CROSS}/${name}?${uid()}`)).duration * 10) / 10, length);
  check(`${name}: of another origin by CORS without leave`, async () => (await loaded(tag, `${CROSS}/${name}?${uid()}`, {crossorigin: ""})).error !== null, true);
  check(`${name}: of another origin by CORS with leave`, async () => (await loaded(tag, order("/" + name, CROSS, {u: uid(), headers: open}), {crossorigin: ""})).error, null);
  check(`${name}: after a redirect`, async () => (await loaded(tag, redirect(`/${name}?${uid()}`))).error, null);
  check(`${name}: in markup`, () => ask(html(`${TELL}<${tag} src="/${name}?${uid()}" preload=auto onloadedmetadata="tell(Math.round(this.duration * 10) / 10)"></${tag}>`)), length);
  check(`${name}: its bytes`, async () => hex(await crypto.subtle.digest("SHA-256", await (await fetch(`/${name}?${uid()}`)).arrayBuffer())).slice(0, 16));
}
check("the film's size", async () => { const one = await loaded("video", "/film.webm?" + uid()); return [one.videoWidth, one.videoHeight]; }, [64, 48]);
check("a source is chosen by its type", () => ask(html(`${TELL}<video preload=auto><source src="/sound.wav?no" type="video/unknown"><source src="/film.webm?${uid()}" type="video/webm" ></video><script>document.querySelector("video").onloadedmetadata = (e) => tell(new URL(e.target.currentSrc).pathname)</script>`)), "/film.webm");
check("a film that is none", async () => (await loaded("video", give({type: "video/webm", body: "none"}))).error.code);
check("a film that is not there", async () => (await loaded("video", give({status: 404}))).error.code, 4);
check("preload=none asks for nothing", async () => { const key = uid(); add("video", {preload: "none", src: "/film.webm?key=" + key}); await sleep(200); return (await seen(key)).length; }, 0);
check("subtitles", async () => { const video = add("video", {}).element; const track = document.createElement("track"); track.default = true; track.src = give({type: "text/vtt", body: "WEBVTT\n\n00:00.000 --> 00:01.000\nhello\n"}); const end = event(track, "load"); video.append(track); track.track.mode = "showing"; await end; return track.track.cues[0].text; }, "hello");
check("a media source", async () => { const source = new MediaSource(), one = add("video", {src: URL.createObjectURL(source)}).element; await event(source, "sourceopen"); const buffer = source.addSourceBuffer('video/webm; codecs="vp8"'); buffer.appendBuffer(await (await fetch("/film.webm?" + uid())).arrayBuffer()); await event(buffer, "updateend"); source.endOfStream(); return [source.duration > 1.9, buffer.buffered.length]; }, [true, 1]);
finish();
