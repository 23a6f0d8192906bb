// What every page of the course does beyond its figures.
(() => {
  "use strict";
  // Print shows what is folded away, and folds it again afterwards.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("article details:not([open])")];
    for (const part of opened) part.open = true;
  });
  addEventListener("afterprint", () => {
    for (const part of opened) part.open = false;
    opened = [];
  });
})();
