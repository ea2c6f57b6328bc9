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

document.addEventListener("keydown", (event) => {
  const busy = event.target.closest && event.target.closest("input, select, textarea, dialog");
  if (event.key !== "/" || busy || event.altKey || event.ctrlKey || event.metaKey || !explorers.length) return;
  event.preventDefault();
  const near = explorers.find((one) => one.root.getBoundingClientRect().bottom > 0) || explorers[0];
  near.inputs.words.focus();
});

// The rest of the page is painted first.
const start = () => setTimeout(() => document.querySelectorAll("[data-explorer]").forEach(mount), 0);
if (document.readyState === "complete") start();
else window.addEventListener("load", start);
