// Downloads: names and bytes. The runner looks at the files. Source: HTML 4.6.5; RFC 6266.
// Each into a frame of its own: one navigation must not end another.
const save = (href, attributes = {}) => {
  const name = "f" + uid();
  add("iframe", {name});
  add("a", {href, target: name, ...attributes}).element.click();
};
const photo = (disposition, more = {}) => picture("photo.jpg", {u: uid(), headers: {"content-disposition": disposition, ...more}});
const drawing = picture("photo.png", {u: uid(), headers: {"cache-control": "max-age=60", etag: '"shown"'}});
check("a download leaves the page where it is", async () => {
  await image(drawing);
  for (const [href, attributes] of [
    [photo('attachment; filename="one.jpg"')], [photo("attachment; filename*=UTF-8''zw%C3%A9i.jpg; filename=no.jpg")],
    [picture("photo.jpg", {u: uid()}), {download: "three.jpg"}], [drawing, {download: "four.png"}],
    [URL.createObjectURL(new Blob(["five"])), {download: "five.txt"}], [html("<head></head>six", {"content-disposition": "attachment; filename=six.html"})],
    [give({type: "application/octet-stream", body: "seven", headers: {"content-disposition": "attachment; filename=seven.bin"}})],
    [order("/bytes", SAME, {headers: {"content-disposition": "attachment; filename=eight.bin"}})],
    [html("<head></head>nine", {}), {download: "nine.html"}],
    [order("/coded", SAME, {coding: "gzip", body: "ten".repeat(99), headers: {"content-disposition": "attachment; filename=ten.txt"}})],
    [redirect(photo("attachment; filename=eleven.jpg"))],
  ]) {
    save(href, attributes);
    await sleep(250);
  }
  return location.pathname;
}, "/run/downloads");
check("a frame whose answer is saved stays empty", async () => {
  const frame = add("iframe", {src: give({body: "x", headers: {"content-disposition": "attachment; filename=twelve.txt"}})}).element;
  await sleep(400);
  return frame.contentDocument.body.innerHTML;
}, "");
check("the field of a download is the origin's", async () => (await fetch(photo('attachment; filename="x.jpg"'))).headers.get("content-disposition"), 'attachment; filename="x.jpg"');
finish();
