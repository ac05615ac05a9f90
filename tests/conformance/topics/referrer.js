// What a request tells of the page it comes from. Source: Referrer Policy.
const POLICIES = ["no-referrer", "no-referrer-when-downgrade", "origin", "origin-when-cross-origin", "same-origin",
  "strict-origin", "strict-origin-when-cross-origin", "unsafe-url"];
const FULL = {same: {}, cross: {}};
for (const one of POLICIES) {
  const nothing = one === "no-referrer", bare = ["origin", "strict-origin"].includes(one);
  FULL.same[one] = nothing ? "none" : bare ? "SAME/" : "SAME/run/referrer";
  FULL.cross[one] = nothing || one === "same-origin" ? "none"
    : ["no-referrer-when-downgrade", "unsafe-url"].includes(one) ? "SAME/run/referrer" : "SAME/";
}
for (const policy of POLICIES) {
  for (const where of ["same", "cross"]) {
    const origin = where === "same" ? SAME : CROSS;
    check(`fetch with ${policy}, ${where}`, async () => {
      const key = uid();
      await fetch(give({key}, origin), {referrerPolicy: policy, mode: "no-cors"});
      return sent(key, "referer");
    }, FIREFOX && where === "cross" ? undefined : FULL[where][policy]);
    check(`an image with ${policy}, ${where}`, async () => {
      const key = uid();
      await image(picture("red.png", {key}, origin), {referrerpolicy: policy});
      return sent(key, "referer");
    }, FIREFOX && where === "cross" ? undefined : FULL[where][policy]);
  }
  check(`a page whose header says ${policy}`, async () => {
    const key = uid(), far = uid();
    const page = `${TELL}<img src="${picture("red.png", {key})}"><img src="${picture("green.png", {key: far}, CROSS)}"><script>onload=()=>tell(document.referrer.length>0)</script>`;
    await ask(html(page, {"referrer-policy": policy}));
    return [await sent(key, "referer"), await sent(far, "referer")].map((one) => one.replace(/\?.*/, "?"));
  });
  check(`a page whose meta says ${policy}`, async () => {
    const key = uid(), far = uid();
    const page = `<meta name=referrer content=${policy}>${TELL}<img src="${picture("red.png", {key})}"><img src="${picture("green.png", {key: far}, CROSS)}"><script>onload=()=>tell(1)</script>`;
    await ask(html(page));
    return [await sent(key, "referer"), await sent(far, "referer")].map((one) => one.replace(/\?.*/, "?"));
  });
}
check("a script's own attribute", async () => {
  const key = uid();
  await script(js("0", {key}), {referrerpolicy: "origin"});
  return sent(key, "referer");
}, "SAME/");
check("a style sheet's own attribute", async () => {
  const key = uid();
  await style(css("x{}", {key}), {referrerpolicy: "no-referrer"});
  return sent(key, "referer");
}, "none");
check("a style sheet's pictures come from the sheet", async () => {
  const key = uid(), sheet = css(`.s${key}{background:url("${picture("red.png", {key})}")}`);
  await style(sheet);
  const box = add("div", {class: "s" + key, style: "width:9px;height:9px"}).element;
  box.getBoundingClientRect();
  return (await sent(key, "referer", true)) === named(sheet);
}, true);
check("a frame's own attribute", () => ask(html(TELL + "<script>tell(document.referrer)</script>"), {referrerpolicy: "no-referrer"}), "");
check("a frame knows who shows it", async () => named(await ask(html(TELL + "<script>tell(document.referrer)</script>"))), "SAME/run/referrer");
check("a frame of another site knows the origin", async () => named(await ask(html(TELL + "<script>tell(document.referrer)</script>", {}, CROSS))), "SAME/");
check("a link with rel=noreferrer tells nothing", async () => {
  const id = uid(), link = add("a", {href: html(`<script>${leave(id, "document.referrer")}</script>`), rel: "noreferrer", target: "_blank"}).element;
  link.click();
  return left(id);
}, "");
check("a fetch may name a page of its own", async () => {
  const key = uid();
  await fetch(give({key}), {referrer: "/another/page"});
  return sent(key, "referer");
}, "SAME/another/page");
check("a fetch may name none", async () => {
  const key = uid();
  await fetch(give({key}), {referrer: ""});
  return sent(key, "referer");
}, "none");
check("a redirect may change the policy", async () => {
  const key = uid();
  await fetch(redirect(give({key}), {headers: {"referrer-policy": "no-referrer"}}));
  return sent(key, "referer");
}, "none");
check("the last policy of a list that is known counts", async () => {
  const key = uid();
  await ask(html(`${TELL}<img src="${picture("red.png", {key})}"><script>onload=()=>tell(1)</script>`, {"referrer-policy": "no-referrer, origin, unknown"}));
  return sent(key, "referer");
}, "SAME/");
check("a page's address loses its fragment and nothing else", async () => {
  const key = uid();
  const page = html(`${TELL}<img src="${picture("red.png", {key})}"><script>onload=()=>tell(1)</script>`, {"referrer-policy": "unsafe-url"});
  await ask(page + "#fragment");
  return (await sent(key, "referer")) === named(page);
}, true);
if (HTTPS) {
  check("from https to http nothing is told by default", async () => {
    const id = uid();
    window.open(give({type: "text/html", body: `<script>${leave(id, "document.referrer", PLAIN)}</script>`}, PLAIN), "_blank", "noopener");
    return left(id);
  }, "");
} else {
  check("from https to http nothing is told by default", () => "", "");
}
finish();
