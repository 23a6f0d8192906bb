// Sets the page's formulas with the KaTeX that lies beside this file: no request leaves the site.
// Sphinx loads this script (mathjax_path) on pages that hold a formula, marked up as \( … \) or \[ … \] in .math elements.
(() => {
  const here = new URL(".", document.currentScript.src).href;
  const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: here + "katex.min.css" });
  const script = Object.assign(document.createElement("script"), { src: here + "katex.min.js" });
  const render = async () => {
    let since = performance.now();
    for (const element of document.querySelectorAll(".math")) {
      const text = element.textContent.trim();
      const found = /^\\([([])([\s\S]*)\\[)\]]$/.exec(text);
      if (!found) continue;
      // A formula that cannot be set stays as TeX in red: visible to the author, harmless to the reader.
      katex.render(found[2], element, { displayMode: found[1] === "[", throwOnError: false, output: "htmlAndMathml" });
      if (performance.now() - since < 30) continue;
      await new Promise((go) => setTimeout(go)); // the page answers in between
      since = performance.now();
    }
    document.documentElement.dataset.math = "set";
  };
  script.onload = () => (document.readyState === "loading" ? addEventListener("DOMContentLoaded", render) : render());
  document.head.append(style, script);
})();
