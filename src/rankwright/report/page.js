"use strict";
// Everything on the page is there without this script. It adds: a choice of colours, sorted tables, a search, figures
// shown one at a time, and what a mark of a plot stands for. Texts are set as text, never as markup.
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  // Light or dark

  const root = document.documentElement;
  const theme = document.getElementById("theme");
  const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : systemIsDark.matches);
  const nameTheme = () => { theme.textContent = isDark() ? "Light colours" : "Dark colours"; };
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
  });
  systemIsDark.addEventListener("change", nameTheme);
  nameTheme();
  theme.hidden = false;

  // Places: a row or a query may be folded away, or not match the search

  const reveal = (id) => {
    const target = id && document.getElementById(id);
    if (!target) return;
    if (target.hidden) clearSearches();
    for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    target.scrollIntoView({ block: target.tagName === "TR" ? "center" : "start" });
    const focused = target.tagName === "DETAILS" ? target.querySelector("summary") : target;
    if (target.tagName === "TR") target.tabIndex = -1;
    focused.focus({ preventScroll: true });
  };
  const go = (id) => {
    location.hash = id;
    reveal(id); // at once, and also where the address stays as it was
  };
  const here = () => {
    const hash = location.hash.slice(1);
    try {
      return decodeURIComponent(hash);
    } catch {
      return hash; // a broken escape, such as %E0%A4%A, stands for nothing
    }
  };
  addEventListener("hashchange", () => reveal(here()));
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link && link.hash === location.hash) reveal(here());
  });

  // Tables

  const number = (text) => parseFloat(text.replace("<", "").replace("−", "-").replace("+", "").replace(/,/g, ""));
  const keyOf = (row, column) => {
    const cell = row.cells[column];
    const exact = cell.querySelector("data");
    return exact ? exact.value : cell.textContent.trim();
  };
  const sortBy = (table, column, ascending) => {
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row) => ({ row, text: keyOf(row, column) }));
    const isNumeric = keyed.every(({ text }) => text === "—" || text === "" || !Number.isNaN(number(text)));
    const order = new Intl.Collator(undefined, { numeric: true });
    for (const entry of keyed) entry.value = number(entry.text);
    keyed.sort((a, b) => {
      const missing = (a.text === "—") - (b.text === "—");
      if (missing) return missing;
      const difference = isNumeric ? a.value - b.value : order.compare(a.text, b.text);
      return ascending ? difference : -difference;
    });
    body.append(...keyed.map(({ row }) => row));
  };
  for (const table of all("table.sortable")) {
    const heads = all("thead th", table);
    heads.forEach((head, column) => {
      const button = make("button", { type: "button" }, ...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        // Numbers are mostly looked at from the greatest down.
        const isText = head.classList.contains("t");
        const ascending = head.ariaSort ? head.ariaSort === "descending" : isText;
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
        sortBy(table, column, ascending);
      });
    });
  }

  const searches = all(".search").map((line) => {
    const input = line.querySelector("input");
    const found = line.querySelector("output");
    const rows = all("tbody tr", document.getElementById(input.dataset.table));
    const search = () => {
      const wanted = input.value.trim().toLowerCase();
      let shown = 0;
      for (const row of rows) {
        row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
        shown += !row.hidden;
      }
      found.textContent = wanted ? `${shown} of ${rows.length}` : "";
    };
    input.addEventListener("input", search);
    line.hidden = false;
    return { input, search };
  });
  const clearSearches = () => {
    for (const { input, search } of searches) {
      input.value = "";
      search();
    }
  };

  // Figures of which one is shown

  for (const choice of all(".choice")) {
    const parts = all(":scope > [data-choice]", choice);
    const buttons = parts.map((part) => make("button", { type: "button", textContent: part.dataset.choice }));
    const show = (shown) => parts.forEach((part, i) => {
      part.hidden = i !== shown;
      buttons[i].setAttribute("aria-pressed", String(i === shown));
    });
    buttons.forEach((button, i) => button.addEventListener("click", () => show(i)));
    const group = make("div", { className: "buttons", role: "group", ariaLabel: choice.dataset.label }, ...buttons);
    choice.prepend(group);
    show(0);
  }

  // Plots

  const FAR = 30; // further from any mark than this, in pixels, nothing is told
  const SVG = "http://www.w3.org/2000/svg";

  const linesOf = (about) => {
    if (Array.isArray(about)) return about;
    const row = document.getElementById(about);
    const heads = all("thead th", row.closest("table"));
    const texts = [...row.cells].map((cell) => cell.textContent.trim());
    const told = texts.map((text, i) => {
      if (i === 0 && heads[0].classList.contains("t")) return text; // a name needs no word before it
      return text && text !== "—" ? `${heads[i].textContent}: ${text}` : "";
    });
    return told.filter(Boolean);
  };

  for (const plot of all("figure.plot")) {
    const block = plot.querySelector('script[type="application/json"]');
    if (!block) continue;
    const marks = JSON.parse(block.textContent);
    const svg = plot.querySelector("svg");
    const along = plot.dataset.along;
    const isElastic = !svg.hasAttribute("viewBox"); // places are percent of its width, and pixels from its top
    const isLinked = marks.some(([, , about]) => typeof about === "string");
    const tip = make("div", { className: "tip", hidden: true });
    tip.setAttribute("aria-live", "polite");
    const cursor = document.createElementNS(SVG, "circle");
    cursor.setAttribute("class", "cursor");
    cursor.setAttribute("r", 6);
    let current = -1;
    let lit = null;
    let isSecondTouch = true;

    const hide = () => {
      tip.hidden = true;
      cursor.remove();
      if (lit) lit.classList.remove("lit");
      lit = null;
      current = -1;
    };
    const tell = (i) => {
      if (i === current) return;
      hide();
      if (i < 0) return;
      current = i;
      const [x, y, about] = marks[i];
      cursor.setAttribute("cx", isElastic ? `${x}%` : x);
      cursor.setAttribute("cy", y);
      svg.append(cursor);
      tip.replaceChildren(...linesOf(about).map((line) => make("div", {}, line)));
      tip.hidden = false;
      if (typeof about === "string") {
        tip.append(make("div", { className: "hint" }, "Click to see more"));
        lit = document.getElementById(about);
        lit.classList.add("lit");
      }
      place(x, y);
    };
    const pixels = (x, y) => {
      const { width } = svg.getBoundingClientRect();
      const scale = isElastic ? width / 100 : width / svg.viewBox.baseVal.width;
      return [x * scale, isElastic ? y : y * scale];
    };
    const place = (...mark) => {
      const outer = plot.getBoundingClientRect();
      const inner = svg.getBoundingClientRect();
      const [x, y] = pixels(...mark);
      const left = inner.left - outer.left + x;
      const top = inner.top - outer.top + y;
      const room = outer.width - tip.offsetWidth;
      tip.style.left = `${Math.max(0, Math.min(left - tip.offsetWidth / 2, room))}px`;
      const above = top - tip.offsetHeight - 14;
      tip.style.top = `${outer.top + above < 0 ? top + 14 : above}px`;
    };
    const nearest = (event) => {
      const box = svg.getBoundingClientRect();
      let best = -1;
      let least = along === "xy" ? FAR * FAR : Infinity;
      marks.forEach(([markX, markY], i) => {
        const [x, y] = pixels(markX, markY);
        const [right, down] = [x + box.left - event.clientX, y + box.top - event.clientY];
        const distance = (along === "y" ? 0 : right ** 2) + (along === "x" ? 0 : down ** 2);
        if (distance < least) [best, least] = [i, distance];
      });
      return best;
    };
    const follow = () => {
      if (current >= 0 && typeof marks[current][2] === "string") {
        const row = document.getElementById(marks[current][2]);
        const link = row.querySelector('a[href^="#"]');
        go(link ? link.hash.slice(1) : row.id);
      }
    };

    svg.addEventListener("pointermove", (event) => tell(nearest(event)));
    svg.addEventListener("pointerdown", (event) => {
      // A finger has no way to point without a click: its first touch tells, a second one follows.
      const touched = nearest(event);
      isSecondTouch = event.pointerType !== "touch" || touched === current;
      tell(touched);
    });
    svg.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") hide(); });
    svg.addEventListener("click", () => { if (isSecondTouch) follow(); });
    svg.addEventListener("focus", () => { if (svg.matches(":focus-visible")) tell(0); });
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (step) tell(Math.max(0, Math.min(marks.length - 1, current + step)));
      else if (event.key === "Home") tell(0);
      else if (event.key === "End") tell(marks.length - 1);
      else if (event.key === "Enter") follow();
      else if (event.key === "Escape") hide();
      else return;
      event.preventDefault();
    });
    svg.setAttribute("tabindex", "0");
    plot.classList.toggle("links", isLinked);
    plot.append(tip);
  }

  reveal(here());
})();
