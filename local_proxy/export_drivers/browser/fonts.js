  // -- text before its fonts ----------------------------------------------------------------------

  // Part of driver.js, in whose scope it is. A browser hides text for three seconds while its font
  // comes, unless the page says otherwise (CSS Fonts 4, "font-display"). Over a slow link fonts come
  // behind text, styles and coarse pictures: text is shown in another font until then. On a fast one
  // they are here before anybody could read.

  const HIDDEN = 100; // milliseconds for which text may be: those of `font-display: fallback`
  const { fonts } = document;
  let hastening = 0;
  const hasten = () => {
    hastening = 0;
    each(fonts, (face) => {
      if (face.status === "loading" && face.display === "auto") face.display = "swap";
    });
    hastenSoon(); // of those that begin while others load no event tells
  };
  const hastenSoon = () => {
    if (!hastening && fonts.status === "loading") hastening = later(hasten, HIDDEN);
  };
  if (each) listen(fonts, "loading", hastenSoon);
