"use strict";
(() => {
  const one = (query, inside = document) => inside.querySelector(query);
  const all = (query, inside = document) => [...inside.querySelectorAll(query)];
  const csrf = one('meta[name="csrf"]').content;
  const say = (text) => { one("#said").textContent = text; };

  // The list: search, choices, sorting and pages replace the table, not the page.
  const list = one("#list");
  const filters = one(".filters");
  let asked = 0;
  const show = async (address, push) => {
    const own = ++asked;
    const url = new URL(address, location.href);
    url.searchParams.set("fragment", "1");
    const answer = await fetch(url, { credentials: "same-origin" });
    if (answer.redirected || !answer.ok) { location.assign(address); return; }
    const text = await answer.text();
    if (own !== asked) return; // a later question was answered meanwhile
    list.innerHTML = text;
    const over = one(".over", list);
    for (const each of all("[data-count]")) each.textContent = Number(over.dataset[each.dataset.count]).toLocaleString("en");
    if (push) history.pushState({}, "", address);
    enliven();
  };
  const addressOf = () => {
    const data = new FormData(filters);
    const used = [...data].filter(([name, value]) => value !== "" && value !== "all" && !(name === "sort" && value === "name" && !data.get("dir")));
    const text = new URLSearchParams(used).toString();
    return text ? `/?${text}` : "/";
  };
  const exportAddress = () => {
    const link = one("[data-export]");
    if (link) link.href = `/today.csv${new URL(addressOf(), location.href).search}`;
  };
  const enliven = () => { for (const each of all("[data-change]")) each.hidden = false; };
  if (list && filters) {
    let timer = 0;
    const ask = () => { exportAddress(); show(addressOf(), true); };
    filters.addEventListener("input", (event) => {
      clearTimeout(timer);
      timer = setTimeout(ask, event.target.type === "search" ? 150 : 0);
    });
    filters.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(timer); ask(); });
    list.addEventListener("click", (event) => {
      const link = event.target.closest("th a, .pager a");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey || link.closest("tbody")) return;
      event.preventDefault();
      const url = new URL(link.href);
      for (const name of ["sort", "dir"]) filters.elements[name].value = url.searchParams.get(name) ?? (name === "sort" ? "name" : "");
      exportAddress();
      show(url.pathname + url.search, true).then(() => { if (link.closest(".pager")) window.scrollTo(0, 0); });
    });
    window.addEventListener("popstate", () => location.reload());
    exportAddress();
    enliven();
  }

  // One decision on the list: stored, then its row says so.
  const store = async (decision) => {
    const answer = await fetch("/v1/decisions", {
      method: "POST", credentials: "same-origin",
      headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf },
      body: JSON.stringify({ decisions: [decision] }),
    });
    if (answer.status === 401) { location.assign("/login"); return false; }
    const told = await answer.json();
    if (!answer.ok) { say([told.message, ...told.findings].join(" ")); return false; }
    say(`${decision.series}: ${decision.status}, stored`);
    return true;
  };
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (form.dataset.confirm && !window.confirm(form.dataset.confirm)) { event.preventDefault(); return; }
    if (!form.matches("[data-decide]") || !list) return;
    event.preventDefault();
    const row = form.closest("tr");
    const next = row.nextElementSibling;
    const status = event.submitter.value;
    for (const each of all("button", form)) each.disabled = true;
    if (await store({ series: form.elements.series.value, status })) {
      await show(location.pathname + location.search, false);
      const follows = next && all("[data-decide]", list).find((each) => each.elements.series.value === one('[name="series"]', next)?.value);
      (follows ? one("button", follows) : list.querySelector("button"))?.focus();
    } else for (const each of all("button", form)) each.disabled = false;
  });
  const dialog = one("#change");
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-change]");
    if (button && dialog) {
      const fields = one("form", dialog).elements;
      one("h2", dialog).textContent = `Change ${button.dataset.change}`;
      fields.series.value = button.dataset.change;
      fields.price.value = button.dataset.price;
      fields.order.value = button.dataset.order;
      fields.reason.value = "";
      fields.back.value = location.pathname + location.search;
      dialog.showModal();
    }
    if (event.target.closest("[data-close]")) event.target.closest("dialog").close();
  });

  // What if: sliders and fields move together, and one question is on its way at a time.
  const form = one("[data-what-if]");
  if (form) {
    const sliders = all('input[type="range"]', form);
    const first = Object.fromEntries(sliders.map((each) => [each.name, each.value]));
    const field = (slider) => one(`[data-for="${slider.id}"]`, form);
    const written = {
      money: (value) => Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : value.toFixed(1),
      units: (value) => Number.isInteger(value) || Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(1),
      percent: (value) => value > 0 && value < 0.01 ? "< 1 %" : `${Math.round(100 * value)} %`,
    };
    const signed = (value, kind) => `${value < 0 ? "" : "+"}${kind === "percent" ? `${Math.round(100 * value)} points` : value.toFixed(1)}`;
    const currency = form.dataset.currency ?? "";
    let busy = false;
    let again = false;
    const work = async () => {
      if (busy) { again = true; return; }
      busy = true;
      const changed = Object.fromEntries(sliders.filter((each) => each.name === "price" || each.name === "order" || Number(field(each).value) !== Number(first[each.name]))
        .map((each) => [each.name, Number(field(each).value)]));
      try {
        const answer = await fetch("/v1/what-if", {
          method: "POST", credentials: "same-origin",
          headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf },
          body: JSON.stringify({ series: form.dataset.whatIf, ...changed }),
        });
        const told = await answer.json();
        if (!answer.ok) say([told.message, ...told.findings].join(" "));
        else {
          for (const cell of all("[data-out]")) {
            const [part, key] = cell.dataset.out.split(".");
            const value = part === "difference" ? told.difference[key] : told[part].expected[key];
            const kind = cell.dataset.kind;
            cell.textContent = value === null ? "–" : part === "difference" ? signed(value, kind) : `${written[kind](value)}${kind === "money" && currency ? ` ${currency}` : ""}`;
          }
          one("[data-unseen]").hidden = !told.instead.unseen;
        }
      } finally {
        busy = false;
        if (again) { again = false; work(); }
      }
    };
    for (const slider of sliders) {
      slider.addEventListener("input", () => { field(slider).value = slider.value; work(); });
      field(slider).addEventListener("input", () => { slider.value = field(slider).value; if (field(slider).value !== "") work(); });
    }
    const reset = one("[data-reset]", form);
    reset.hidden = false;
    reset.addEventListener("click", () => {
      for (const slider of sliders) { slider.value = first[slider.name]; field(slider).value = first[slider.name]; }
      work();
    });
    form.addEventListener("submit", (event) => { event.preventDefault(); work(); });
  }

  // What a mark of a figure stands for, beside the pointer or the finger.
  const tip = one("#tip");
  const place = (event) => {
    const told = event.target instanceof Element && event.target.closest("[data-tip]");
    tip.hidden = !told;
    if (!told) return;
    tip.textContent = told.dataset.tip;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, window.innerWidth - width - 8))}px`;
    const below = event.clientY + 18;
    tip.style.top = `${below + height > window.innerHeight ? event.clientY - height - 12 : below}px`;
  };
  for (const kind of ["pointermove", "pointerdown"]) document.addEventListener(kind, place);
  document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
})();
