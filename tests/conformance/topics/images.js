// Pictures: sizes, choice, laziness, events. Source: HTML 4.8.3, 4.8.4.
const all = {"red.png": "12x8", "green.png": "24x16", "blue.gif": "20x10", "grey.webp": "16x16", "moving.gif": "30x20", "turned.jpg": "20x40",
  "photo.jpg": "640x480", "photo.png": "320x240", "drawing.svg": "33x22", "broken.png": "error"};
for (const [name, size] of Object.entries(all)) {
  check(`${name} that a script makes`, () => image(picture(name, {u: uid()})), size);
  check(`${name} in markup`, () => ask(html(`${TELL}<img src="${picture(name, {u: uid()})}" onload="tell(this.naturalWidth + 'x' + this.naturalHeight)" onerror="tell('error')">`)), size);
}
check("a picture that is cut off", () => image(picture("cut.jpg", {u: uid()})));
check("a picture that is not there", () => image(give({status: 404, body: "no"})), "error");
check("a picture with status 404 is shown all the same", () => image(give({status: 404, file: "red.png", type: "image/png"})), "12x8");
check("a picture with status 500 is shown all the same", () => image(give({status: 500, file: "photo.jpg", type: "image/jpeg"})), "640x480");
check("an empty answer is no picture", () => image(give({type: "image/png"})), "error");
check("a text is no picture", () => image(give({body: "text"})), "error");
check("decode() of a picture", async () => { const one = new Image(); one.src = picture("photo.jpg", {u: uid()}); await one.decode(); return [one.complete, one.naturalWidth]; }, [true, 640]);
check("decode() of a broken one", () => { const one = new Image(); one.src = picture("broken.png", {u: uid()}); return one.decode(); }, "throws EncodingError");
check("complete, before and after", async () => {
  const loading = add("img", {src: picture("photo.png", {u: uid()})});
  const before = loading.element.complete;
  await loading;
  return [before, loading.element.complete];
}, [false, true]);
check("load comes once", async () => {
  let times = 0;
  const loading = add("img", {src: picture("photo.jpg", {u: uid()})});
  loading.element.addEventListener("load", () => times++);
  await loading;
  await sleep(600);
  return times;
}, 1);
check("load comes once in markup", () => ask(html(`${TELL}<script>let n = 0; setTimeout(() => 0)</script><img src="${picture("photo.jpg", {u: uid()})}" onload="n++"><img src="${picture("photo.png", {u: uid()})}" onload="n++"><script>onload = () => setTimeout(() => tell(n), 900)</script>`)), 2);
check("a picture's attributes and address stay", () => ask(html(`${TELL}<img id=i src="${picture("photo.jpg", {u: 1})}" alt=a><script>onload = () => setTimeout(() => tell([i.outerHTML.replace(/http.*?photo/, "photo"), i.currentSrc === i.src, i.getAttributeNames(), i.style.length]), 700)</script>`)));
check("nobody adds nodes to a page of pictures", () => ask(html(`${TELL}<img src="${picture("photo.jpg", {u: uid()})}"><script>let n = 0; new MutationObserver((all) => n += all.length).observe(document, {subtree: true, childList: true, attributes: true}); onload = () => setTimeout(() => tell([document.querySelectorAll("*").length, document.styleSheets.length]), 700)</script>`)), [6, 0]);
for (const [dpr, chosen] of [["1x", "red.png"], ["2x", "green.png"]]) {
  check(`srcset with ${dpr} only`, async () => {
    const loading = add("img", {srcset: `${picture(chosen, {u: uid()})} ${dpr}`});
    await loading;
    return new URL(loading.element.currentSrc).pathname;
  }, "/" + chosen);
}
check("srcset with widths", async () => {
  const loading = add("img", {srcset: `${picture("red.png", {u: uid()})} 12w, ${picture("green.png", {u: uid()})} 2400w`, sizes: "10px"});
  await loading;
  return [new URL(loading.element.currentSrc).pathname, loading.element.naturalWidth];
});
check("srcset in markup asks for one", async () => {
  const key = uid();
  await ask(html(`${TELL}<img srcset="${picture("red.png", {key})} 100w, ${picture("green.png", {key})} 2400w" sizes=100px><script>onload=()=>tell(1)</script>`));
  return [...new Set((await seen(key)).map((one) => one.path))];
});
check("picture chooses by type", async () => {
  const key = uid();
  await ask(html(`${TELL}<picture><source type=image/unknown srcset="${picture("red.png", {key})}"><source type=image/webp srcset="${picture("grey.webp", {key})}"><img src="${picture("blue.gif", {key})}"></picture><script>onload=()=>tell(document.images[0].naturalWidth)</script>`));
  return [...new Set((await seen(key)).map((one) => one.path))];
});
check("picture chooses by media", () => ask(html(`${TELL}<picture><source media="(min-width: 99999px)" srcset="${picture("red.png", {u: uid()})}"><img src="${picture("blue.gif", {u: uid()})}"></picture><script>onload=()=>tell(document.images[0].naturalWidth)</script>`)), 20);
check("a lazy picture far below waits", async () => {
  const key = uid();
  await ask(html(`${TELL}<div style="height:30000px"></div><img loading=lazy src="${picture("red.png", {key})}"><script>onload=()=>setTimeout(()=>tell(1),300)</script>`));
  return (await seen(key)).length;
});
check("a lazy picture in sight comes", () => ask(html(`${TELL}<img loading=lazy src="${picture("photo.jpg", {u: uid()})}" onload="tell(this.naturalWidth)">`), {style: "position:fixed;top:0;left:0"}), 640);
check("a picture that is changed shows the new one", async () => {
  const loading = add("img", {src: picture("photo.jpg", {u: uid()})});
  await loading;
  const again = loads(loading.element);
  loading.element.src = picture("green.png", {u: uid()});
  await again;
  return loading.element.naturalWidth;
}, 24);
check("a picture that is changed at once shows the last", async () => {
  const loading = add("img", {src: picture("photo.jpg", {u: uid()})});
  loading.element.src = picture("green.png", {u: uid()});
  await loading;
  return loading.element.naturalWidth;
}, 24);
check("a picture asks as pictures do", async () => {
  const key = uid();
  await image(picture("red.png", {key}));
  const [{headers}] = await seen(key);
  return ["accept", "sec-fetch-dest", "sec-fetch-mode", "sec-fetch-site", "origin", "range"].map((name) => headers[name] ?? "none");
});
check("a picture in markup asks as pictures do", async () => {
  const key = uid();
  await ask(html(`${TELL}<img src="${picture("photo.jpg", {key})}"><script>onload=()=>tell(1)</script>`));
  const all = await seen(key);
  return [all.length, ...["accept", "sec-fetch-dest", "sec-fetch-mode", "sec-fetch-site", "origin", "range"].map((name) => all[0].headers[name] ?? "none")];
});
check("a picture is asked for once", async () => {
  const id = uid();
  await ask(html(`${TELL}<img src="/red.png?${id}&key=${id}"><img src="/red.png?${id}&key=${id}"><script>onload=()=>tell(1)</script>`));
  return (await (await fetch("/asked?key=" + id)).text());
}, "1");
check("a background is shown", async () => {
  const key = uid();
  const box = add("div", {style: `width:20px;height:20px;background:url("${picture("red.png", {key})}")`}).element;
  box.getBoundingClientRect();
  await seen(key, true);
  return (await seen(key)).map((one) => one.headers["sec-fetch-dest"] ?? "none");
});
check("an object that is a picture", () => add("object", {data: picture("red.png", {u: uid()}), type: "image/png"}), "load");
check("an input that is a picture", () => add("input", {type: "image", src: picture("red.png", {u: uid()})}), "load");
check("a video's poster", async () => {
  const key = uid();
  add("video", {poster: picture("red.png", {key})});
  await seen(key, true);
  return (await seen(key)).map((one) => one.method);
}, ["GET"]);
check("a page of twenty photos shows all", () => ask(html(`${TELL}${[...Array(20).keys()].map((n) => `<img src="${picture("photo.jpg", {n: uid()})}" width=30>`).join("")}<script>onload=()=>tell([...document.images].filter((one) => one.naturalWidth === 640 && one.complete).length)</script>`)), 20);
finish();
