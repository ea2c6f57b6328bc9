// Every explorer of the page is set up once the rest is painted.

const explorers = [];

async function mount(root) {
  const told = root.querySelector(".ex-loading");
  if (typeof DecompressionStream === "undefined") {
    told.textContent = "This browser cannot unpack the queries: use one of 2023 or later, or in a terminal: rag-harness show RUN QUERY";
    return;
  }
  const data = new Data(root.dataset.explorer);
  const core = await data.json("core");
  if (!core.queries.id.length || !core.runs.length) {
    told.textContent = "There are no queries to explore.";
    return;
  }
  const explorer = new Explorer(root, data, core);
  explorers.push(explorer);
  await explorer.refresh();
  root.dataset.ready = "true";
}

/** Shows what the address names: a query, or the questions that failed. */
async function follow() {
  const recommended = location.hash ? document.getElementById(decodeURIComponent(location.hash.slice(1)))?.dataset.of : undefined;
  if (recommended !== undefined) {
    const own = explorers.find((one) => one.root.closest("[data-of]")?.id === location.hash.slice(1));
    await own?.failed(recommended === "" ? -1 : Number(recommended));
  }
  const asked = new URLSearchParams(location.hash.slice(1));
  const id = asked.get("q");
  if (id === null) return;
  const known = explorers.filter((one) => one.core.queries.id.includes(id));
  const explorer = known.find((one) => one.data.name === asked.get("in")) || known[0];
  if (explorer) await explorer.reveal(explorer.core.queries.id.indexOf(id), asked.get("a"), asked.get("b"));
  else if (explorers.length) explorers[0].counter.textContent = `This file has no query ${id}`;
}

let isElsewhere = false;
for (const kind of ["wheel", "touchmove", "keydown", "pointerdown"]) {
  addEventListener(kind, () => { isElsewhere = true; }, { capture: true, once: true, passive: true });
}

/** What stands below the explorers moved when they were filled: whoever came for it, and has not gone on since, is
    brought there again. The browser's own way there may not have begun yet. */
function land() {
  if (!isElsewhere) document.querySelector(":target")?.scrollIntoView({ behavior: "instant" });
}

document.addEventListener("keydown", (event) => {
  const busy = event.target.closest && event.target.closest("input, select, textarea, dialog");
  if (event.key !== "/" || busy || event.altKey || event.ctrlKey || event.metaKey || !explorers.length) return;
  event.preventDefault();
  const near = explorers.find((one) => one.root.getBoundingClientRect().bottom > 0) || explorers[0];
  near.inputs.words.focus();
});

// The rest of the page is painted first.
const start = () => setTimeout(async () => {
  await Promise.all([...document.querySelectorAll("[data-explorer]")].map(mount));
  land();
  document.documentElement.classList.add("filled");
  await follow();
  window.addEventListener("hashchange", follow);
}, 0);
if (document.readyState === "complete") start();
else window.addEventListener("load", start);
