// Pictures as sources of canvases: which may be read, and what is read. Source: HTML 4.12.5; WebGL.
const sum = async (pixels) => hex(await crypto.subtle.digest("SHA-256", pixels)).slice(0, 16);
const drawn = async (source, size = [64, 48]) => {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = size;
  const brush = canvas.getContext("2d");
  brush.drawImage(source, 0, 0, ...size);
  return sum(brush.getImageData(0, 0, ...size).data);
};
const texture = async (source) => {
  const canvas = document.createElement("canvas"), gl = canvas.getContext("webgl");
  if (!gl) return "no WebGL here";
  gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, source);
  gl.bindFramebuffer(gl.FRAMEBUFFER, gl.createFramebuffer());
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, gl.getParameter(gl.TEXTURE_BINDING_2D), 0);
  const out = new Uint8Array(64 * 48 * 4);
  gl.readPixels(0, 0, 64, 48, gl.RGBA, gl.UNSIGNED_BYTE, out);
  return sum(out);
};
const made = async (url, values = {}) => {
  const one = Object.assign(new Image(), values);
  one.src = url;
  await one.decode();
  return one;
};
for (const name of ["photo.jpg", "photo.png", "turned.jpg", "blue.gif", "grey.webp", "drawing.svg"]) {
  check(`${name} drawn, its pixels`, async () => drawn(await made(picture(name, {u: uid()}))));
  check(`${name} as a bitmap, its pixels`, async () => drawn(await createImageBitmap(await made(picture(name, {u: uid()})))), undefined);
}
check("a photo as a texture", async () => texture(await made(picture("photo.jpg", {u: uid()}))));
check("a PNG as a texture", async () => texture(await made(picture("photo.png", {u: uid()}))));
check("a photo fetched and drawn", async () => drawn(await createImageBitmap(await (await fetch(picture("photo.jpg", {u: uid()}))).blob())));
check("a photo in the markup drawn at its load", async () => {
  const loading = add("img", {src: picture("photo.jpg", {u: uid()})});
  await loading;
  return drawn(loading.element);
});
check("a photo in a frame's markup drawn at the page's load", () => ask(html(`${TELL}<img src="${picture("photo.jpg", {u: uid()})}"><img src="${picture("photo.png", {u: uid()})}"><script>onload = async () => {
  const c = document.createElement("canvas"); c.width = 64; c.height = 48; const out = [];
  for (const one of document.images) { const b = c.getContext("2d"); b.drawImage(one, 0, 0, 64, 48);
    const h = new Uint8Array(await crypto.subtle.digest("SHA-256", b.getImageData(0, 0, 64, 48).data)); out.push([...h.slice(0, 6)].join(".")); }
  tell(out); }</script>`)));
check("a photo in an svg drawn", async () => {
  document.body.insertAdjacentHTML("beforeend", `<svg width=64 height=48><image width=64 height=48 href="${picture("photo.jpg", {u: uid()})}"/></svg>`);
  const one = document.querySelector("svg image");
  await loads(one);
  return drawn(one);
});
check("a photo in an offscreen canvas", async () => {
  const canvas = new OffscreenCanvas(64, 48), brush = canvas.getContext("2d");
  brush.drawImage(await made(picture("photo.jpg", {u: uid()})), 0, 0, 64, 48);
  return sum(brush.getImageData(0, 0, 64, 48).data);
});
check("a photo as a pattern", async () => {
  const canvas = new OffscreenCanvas(64, 48), brush = canvas.getContext("2d");
  brush.fillStyle = brush.createPattern(await made(picture("photo.jpg", {u: uid()})), "repeat");
  brush.fillRect(0, 0, 64, 48);
  return sum(brush.getImageData(0, 0, 64, 48).data);
});
check("a photo in a worker", () => new Promise((done, failed) => {
  const worker = new Worker(js(`onmessage = async (e) => { const b = await createImageBitmap(await (await fetch(e.data)).blob());
    const c = new OffscreenCanvas(64, 48), x = c.getContext("2d"); x.drawImage(b, 0, 0, 64, 48);
    postMessage([...new Uint8Array(await crypto.subtle.digest("SHA-256", x.getImageData(0, 0, 64, 48).data))].slice(0, 6).join("."))}`));
  worker.onmessage = (event) => done(event.data);
  worker.onerror = () => failed(new Error("worker"));
  worker.postMessage(picture("photo.jpg", {u: uid()}));
}));
for (const [what, origin, headers, values, expected] of [
  ["its own picture", "SAME", {}, {}, "read"], ["another origin's", "CROSS", {}, {}, "SecurityError"],
  ["another origin's with leave that was not asked", "CROSS", open, {}, "SecurityError"],
  ["another origin's with leave", "CROSS", open, {crossOrigin: "anonymous"}, "read"], ["a subdomain's", "WWW", {}, {}, "SecurityError"],
  ["another port's", "PORT", {}, {}, "SecurityError"],
]) {
  for (const name of ["red.png", "photo.jpg"]) {
    check(`a canvas with ${what} (${name})`, async () => {
      const canvas = document.createElement("canvas"), brush = canvas.getContext("2d");
      brush.drawImage(await made(picture(name, {u: uid(), headers}, {SAME, CROSS, WWW, PORT: OTHER_PORT}[origin]), values), 0, 0);
      try { brush.getImageData(0, 0, 1, 1); return "read"; } catch (error) { return error.name; }
    }, expected);
  }
}
check("a picture that a redirect leads to another origin taints", async () => {
  const canvas = document.createElement("canvas"), brush = canvas.getContext("2d");
  brush.drawImage(await made(redirect(picture("red.png", {}, CROSS))), 0, 0);
  try { brush.getImageData(0, 0, 1, 1); return "read"; } catch (error) { return error.name; }
}, "SecurityError");
check("another origin's picture is no texture", async () => texture(await made(picture("photo.jpg", {u: uid()}, CROSS))));
check("a video frame drawn", async () => {
  const video = add("video", {src: "/film.webm?" + uid(), muted: ""}).element;
  await new Promise((done) => { video.onloadeddata = done; video.load(); });
  const canvas = document.createElement("canvas"), brush = canvas.getContext("2d");
  brush.drawImage(video, 0, 0);
  return [video.videoWidth, video.videoHeight, video.duration];
}, [64, 48, 2]);
finish();
