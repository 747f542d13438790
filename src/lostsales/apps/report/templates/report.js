"use strict";
(() => {
  // A choice shows one figure of its group and hides the others.
  for (const select of document.querySelectorAll("select[data-chooses]")) {
    const show = () => {
      for (const each of document.querySelectorAll(`[data-group="${select.dataset.chooses}"]`)) {
        each.hidden = each.dataset.choice !== select.value;
      }
    };
    select.addEventListener("change", show);
    show(); // a browser that reloads the page keeps the last choice
  }
  // What a mark stands for, beside the pointer or the finger.
  const tip = document.getElementById("tip");
  const place = (event) => {
    const told = event.target instanceof Element && event.target.closest("[data-tip]");
    tip.hidden = !told;
    if (!told) return;
    tip.textContent = told.dataset.tip;
    const { width, height } = tip.getBoundingClientRect();
    const left = Math.min(event.clientX + 14, window.innerWidth - width - 8);
    const below = event.clientY + 18;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${below + height > window.innerHeight ? event.clientY - height - 12 : below}px`;
  };
  for (const kind of ["pointermove", "pointerdown"]) document.addEventListener(kind, place);
  document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
  document.documentElement.addEventListener("pointerleave", () => { tip.hidden = true; });
})();
