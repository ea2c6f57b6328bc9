// The page reads without any of this: a theme, copy buttons, and tables that take focus only if they scroll.
(() => {
  "use strict";
  const root = document.documentElement;
  const all = (selector) => [...document.querySelectorAll(selector)];

  function theme() {
    const button = document.getElementById("theme");
    const system = matchMedia("(prefers-color-scheme: dark)");
    const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
    const show = () => { button.textContent = isDark() ? "Light theme" : "Dark theme"; };
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      try {
        localStorage.setItem("rag-report-theme", root.dataset.theme);
      } catch {
        // Remembered for as long as the page is open.
      }
      show();
    });
    system.addEventListener("change", show);
    button.hidden = false;
    show();
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      area.style.cssText = "position:fixed;opacity:0";
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  }

  function copyButtons() {
    const status = document.getElementById("status");
    for (const block of all(".command")) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.textContent = "Copy";
      button.setAttribute("aria-label", `Copy ${block.dataset.what}`);
      button.addEventListener("click", async () => {
        const source = block.querySelector("code");
        const done = await copy(source.textContent);
        button.focus();
        if (!done) getSelection().selectAllChildren(source);
        button.textContent = done ? "Copied" : "Press Ctrl+C";
        status.textContent = done ? "Copied to the clipboard" : "Selected: press Ctrl+C to copy";
        setTimeout(() => { button.textContent = "Copy"; }, 2000);
      });
      block.append(button);
    }
  }

  function scrollers() {
    const fit = (box) => {
      const scrolls = box.scrollWidth > box.clientWidth + 1;
      box.classList.toggle("scrolls", scrolls);
      if (scrolls) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    };
    const seen = new ResizeObserver((entries) => entries.forEach((entry) => fit(entry.target)));
    all(".scroll").forEach((box) => seen.observe(box));
  }

  /** Rows by a column: a click on its heading, or Enter there; the third time they stand as they were. */
  function sorting() {
    const status = document.getElementById("status");
    for (const table of all("table.numbers")) {
      const body = table.tBodies[0];
      const asMade = [...body.rows];
      if (asMade.length < 3) continue;
      const heads = [...table.tHead.rows[0].cells];
      heads.forEach((head, at) => {
        const button = document.createElement("button");
        button.type = "button";
        button.className = "sort";
        button.append(...head.childNodes);
        head.append(button);
        const isNumeric = asMade.some((row) => row.cells[at].dataset.v !== undefined);
        const ways = isNumeric ? ["descending", "ascending"] : ["ascending", "descending"];
        button.addEventListener("click", () => {
          const way = ways[ways.indexOf(head.getAttribute("aria-sort")) + 1] ?? "";
          heads.forEach((one) => one.removeAttribute("aria-sort"));
          if (way) head.setAttribute("aria-sort", way);
          body.append(...(way ? sorted(asMade, at, isNumeric, way === "ascending" ? 1 : -1) : asMade));
          status.textContent = `${button.textContent.trim()}: ${way || "as it was"}`;
        });
      });
    }
  }

  /** What has no number comes last, whichever way. */
  function sorted(rows, at, isNumeric, sign) {
    const number = (row) => row.cells[at].dataset.v;
    const words = (one, other) => one.cells[at].textContent.localeCompare(other.cells[at].textContent, "en", { numeric: true });
    if (!isNumeric) return [...rows].sort((one, other) => sign * words(one, other));
    const known = rows.filter((row) => number(row) !== undefined);
    const others = rows.filter((row) => number(row) === undefined);
    return [...known.sort((one, other) => sign * (Number(number(one)) - Number(number(other)))), ...others];
  }

  /** Whatever an address points at inside something folded is unfolded first. */
  function unfolding() {
    const open = () => {
      const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (!target) return;
      select(target.closest("[data-tab]"));
      for (let one = target.closest("details"); one; one = one.parentElement.closest("details")) one.open = true;
      target.scrollIntoView();
    };
    addEventListener("hashchange", open);
    // A second click on a link to where one is already.
    document.addEventListener("click", (event) => {
      if (event.target.closest('a[href^="#"]')?.hash === location.hash) open();
    });
    open();
  }

  /** One data set at a time, where there are several. */
  const tabs = new Map();
  function tabbing() {
    const articles = all("[data-tab]");
    if (articles.length < 2) return;
    const list = document.createElement("div");
    list.setAttribute("role", "tablist");
    list.setAttribute("aria-label", "Data sets");
    for (const article of articles) {
      const tab = document.createElement("button");
      tab.type = "button";
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-controls", article.id);
      tab.textContent = article.dataset.tab;
      tab.addEventListener("click", () => select(article));
      article.setAttribute("role", "tabpanel");
      tabs.set(article, tab);
      list.append(tab);
    }
    articles[0].before(list);
    select(articles.find((one) => "opens" in one.dataset));
  }

  function select(article) {
    if (!tabs.has(article)) return;
    for (const [one, tab] of tabs) {
      one.hidden = one !== article;
      tab.setAttribute("aria-selected", String(one === article));
    }
  }

  function printing() {
    let closed = [];
    addEventListener("beforeprint", () => {
      tabs.forEach((_, article) => { article.hidden = false; });
      closed = all("main details:not([open])");
      closed.forEach((one) => { one.open = true; });
    });
    addEventListener("afterprint", () => closed.forEach((one) => { one.open = false; }));
  }

  theme();
  copyButtons();
  scrollers();
  printing();
  tabbing();
  if (!document.querySelector("[data-explorer]")) document.documentElement.classList.add("filled");
  sorting();
  unfolding();
})();
