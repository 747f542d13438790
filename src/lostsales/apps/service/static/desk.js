"use strict";
(() => {
  const one = (query, inside = document) => inside.querySelector(query);
  const all = (query, inside = document) => [...inside.querySelectorAll(query)];
  const csrf = one('meta[name="csrf"]').content;
  const say = (text) => { one("#said").textContent = text; };

  // What did not work is said where it is seen, with a way to try it again.
  const box = one("#alert");
  const hush = () => { box.hidden = true; };
  const warn = (text, again, title = "Try again") => {
    (one("dialog[open]") ?? document.body).append(box); // above a dialog too
    one("p", box).textContent = text;
    const button = one("[data-again]", box);
    button.hidden = !again;
    button.textContent = title;
    button.onclick = again ? () => { hush(); again(); } : null;
    box.hidden = false;
  };
  one("[data-hide]", box).addEventListener("click", hush);
  const sentence = (told) => {
    const text = [told.message, told.findings.join("; ")].filter((each) => each).join(": ");
    return `${text[0].toUpperCase()}${text.slice(1)}.`;
  };

  // The list: search, choices, sorting and pages replace the table, not the page.
  const list = one("#list");
  const filters = one(".filters");
  let asked = 0;
  let here = location.pathname + location.search;
  const show = async (address, push) => {
    const own = ++asked;
    const url = new URL(address, location.href);
    url.searchParams.set("fragment", "1");
    let answer;
    let text;
    try {
      answer = await fetch(url, { credentials: "same-origin" });
      text = await answer.text();
    } catch {
      warn("The service does not answer: the list is as it was before.", () => show(address, push));
      return;
    }
    if (answer.redirected || !answer.ok) { location.assign(address); return; }
    if (own !== asked) return; // a later question was answered meanwhile
    list.innerHTML = text;
    const over = one(".over", list);
    for (const each of all("[data-count]")) each.textContent = Number(over.dataset[each.dataset.count]).toLocaleString("en");
    one("footer a").textContent = over.dataset.version;
    if (push) history.pushState({}, "", address);
    here = location.pathname + location.search;
    enliven();
  };
  const addressOf = () => {
    const data = new FormData(filters);
    const used = [...data].filter(([name, value]) => value !== "" && value !== "all" && !(name === "dir" && !data.get("sort")));
    const text = new URLSearchParams(used).toString();
    return text ? `/?${text}` : "/";
  };
  const exportAddress = () => {
    for (const link of all("[data-export]")) {
      const own = new URL(link.href);
      const bom = own.searchParams.get("bom");
      own.search = new URL(addressOf(), location.href).search;
      if (bom) own.searchParams.set("bom", bom);
      link.href = own.href;
    }
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
      for (const name of ["sort", "dir"]) filters.elements[name].value = url.searchParams.get(name) ?? "";
      exportAddress();
      const column = all("thead a", list).indexOf(link);
      show(url.pathname + url.search, true).then(() => {
        if (column >= 0) all("thead a", list)[column]?.focus(); // the table is another one, and focus stays
        else { window.scrollTo(0, 0); one("#first", list)?.focus(); }
      });
    });
    // Keys of the list, outside fields: the row that has the focus is the one they are about.
    const step = (by) => {
      const rows = all("#rows tr", list);
      const at = rows.indexOf(document.activeElement.closest("#rows tr"));
      const next = rows[at < 0 ? 0 : Math.min(Math.max(at + by, 0), rows.length - 1)];
      if (next) { one("th a", next).focus(); next.scrollIntoView({ block: "nearest" }); }
    };
    const keys = { a: 'button[value="accepted"]', c: "[data-change]", d: 'button[value="declined"]' };
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || one("dialog[open]") || event.target.closest("input:not([type=radio]), select, textarea")) return;
      const row = document.activeElement.closest("#rows tr");
      if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1);
      else if (event.key === "/") filters.elements.q.focus();
      else if (keys[event.key] && row) one(keys[event.key], row)?.click();
      else return;
      event.preventDefault();
    });
    window.addEventListener("popstate", () => { if (location.pathname + location.search !== here) location.reload(); }); // not for a place in the page
    exportAddress();
    enliven();
  }

  // Forms are sent without leaving the page, so that nothing typed is lost where the service does not answer.
  const isOfList = (form) => list && (list.contains(form) || form.closest("dialog"));
  const finish = async (form, next) => {
    if (!isOfList(form)) { location.assign(next); return; }
    form.closest("dialog")?.close();
    const follows = form.closest("tr")?.nextElementSibling;
    const name = follows && one('[name="series"]', follows)?.value;
    say(form.elements.series ? `${form.elements.series.value}: stored` : "stored");
    await show(form.elements.series ? location.pathname + location.search : next, false);
    const after = name && all(".row-actions", list).find((each) => each.elements.series.value === name);
    (after ? one("button", after) : one("button", list))?.focus();
  };
  const newToken = async () => { // a restart of the service, or another session, makes another
    const text = await (await fetch("/decisions", { credentials: "same-origin" })).text();
    return one('meta[name="csrf"]', new DOMParser().parseFromString(text, "text/html")).content;
  };
  const send = async (form, data) => {
    const again = () => send(form, data);
    const buttons = all("button", form).filter((each) => !each.disabled);
    for (const each of buttons) each.disabled = true;
    hush();
    try {
      const answer = await fetch(form.action, {
        method: "POST", credentials: "same-origin", headers: { Accept: "application/json" }, body: form.enctype === "multipart/form-data" ? data : new URLSearchParams(data),
      });
      const told = await answer.json();
      if (answer.ok) await finish(form, told.next);
      else if (answer.status === 409 && form.elements.price) { // the server shows the new figures next to those typed
        for (const [name, value] of data) if (!form.elements[name] || name === "status") form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
        form.submit();
      } else if (answer.status === 409 && list) {
        await show(location.pathname + location.search, false);
        warn(sentence(told));
      } else if (told.confirm) {
        warn(sentence(told), () => { data.set("confirmed", "true"); return again(); }, "Store it all the same");
      } else if (answer.status === 401) warn("You are signed out, and nothing was stored. Sign in in another tab, then try again.", again);
      else if (answer.status === 403) {
        const token = await newToken();
        if (token === data.get("csrf")) warn(sentence(told));
        else { data.set("csrf", token); await again(); }
      } else warn(sentence(told), answer.status >= 500 || answer.status === 429 ? again : null);
    } catch {
      warn("The service does not answer. This may not have been stored.", again);
    } finally {
      for (const each of buttons) each.disabled = false;
    }
  };
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.dataset.confirm && !window.confirm(form.dataset.confirm)) { event.preventDefault(); return; }
    if (!form.matches("[data-send]")) return;
    event.preventDefault();
    const data = new FormData(form);
    if (event.submitter?.name) data.set(event.submitter.name, event.submitter.value);
    if (form.elements.series || form.elements.table || form.matches("[data-once]")) data.set("id", [...crypto.getRandomValues(new Uint8Array(16))].map((each) => each.toString(16).padStart(2, "0")).join("")); // tried again, it is stored once
    send(form, data);
  });

  // The button of a product follows its fields: figures that differ from the recommendation are a change.
  const decision = one("[data-own]")?.form;
  if (decision) {
    const typed = all("[data-own]", decision);
    const accept = one('button[value="accepted"]', decision);
    const change = one('button[value="changed"]', decision);
    const follow = () => {
      const differs = typed.some((each) => each.value === "" || Number(each.value) !== Number(each.dataset.own));
      accept.hidden = differs;
      change.hidden = !differs;
      accept.parentElement.prepend(differs ? change : accept); // Enter presses the first button
      decision.elements.reason.required = differs;
    };
    decision.addEventListener("input", follow);
    window.addEventListener("pageshow", follow);
    follow();
  }
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
      for (const name of ["period", "version", "shown_price", "shown_order"]) fields[name].value = button.form.elements[name].value;
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
    const currency = form.dataset.currency ?? "";
    const written = {
      money: (value) => Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : value.toFixed(currency ? 2 : 1),
      units: (value) => Number.isInteger(value) || Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(1),
      percent: (value) => value > 0 && value < 0.01 ? "< 1 %" : `${Math.round(100 * value)} %`,
    };
    const signed = (value, kind) => `${value < 0 ? "" : "+"}${kind === "percent" ? `${Math.round(100 * value)} points` : value.toFixed(kind === "money" && currency ? 2 : 1)}`;
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
        if (!answer.ok) warn(sentence(told));
        else {
          for (const cell of all("[data-out]")) {
            const [part, key] = cell.dataset.out.split(".");
            const value = part === "difference" ? told.difference[key] : told[part].expected[key];
            const kind = cell.dataset.kind;
            cell.textContent = value === null ? "not known" : part === "difference" ? signed(value, kind) : `${written[kind](value)}${kind === "money" && currency ? ` ${currency}` : ""}`;
          }
          const isKnown = told.instead.expected.profit !== null;
          one("[data-unseen]").hidden = !told.instead.unseen || !isKnown;
          one("[data-unknown]").hidden = isKnown;
        }
      } catch {
        warn("The service does not answer: the figures are as they were before.", work);
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

  // Tooltip of a mark in a figure, next to the pointer or the finger.
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
