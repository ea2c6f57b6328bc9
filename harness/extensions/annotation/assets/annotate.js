let items = [];
let place = 0;
let shown = null;
let current = 0;

function progress() {
  const complete = items.filter((item) => item.complete).length;
  at("progress").textContent = `${place + 1} of ${items.length}; ${complete} finished`;
}

function choice(scale, number, parent) {
  const button = make("button", "", parent);
  make("span", number === 0 ? "0" : String(number), button);
  make("span", number === 0 ? "cannot tell" : scale.anchors[number - 1], button);
  const pressed = number === 0 ? scale.cannot_tell : scale.label === number;
  button.setAttribute("aria-pressed", String(pressed));
  button.dataset.number = String(number);
  const index = shown.scales.indexOf(scale);
  button.addEventListener("click", () => run(() => ((current = index), say(number))));
}

function drawScales() {
  at("scales").replaceChildren();
  shown.scales.forEach((scale, index) => {
    const field = make("fieldset", "", at("scales"));
    field.dataset.dimension = scale.dimension;
    make("legend", scale.title, field);
    make("p", scale.asks, field).className = "asks";
    const anchors = make("div", "", field);
    anchors.className = "anchors";
    for (const number of [1, 2, 3, 4, 5, 0]) choice(scale, number, anchors);
    field.classList.toggle("current", index === current);
  });
}

function draw() {
  at("question").textContent = shown.question;
  at("reference").textContent = plain(shown.reference.join(" | ")) || "none is given";
  at("answer").textContent = shown.answer === null ? "(no answer was asked for)" : shown.answer || "(empty)";
  at("context-count").textContent = shown.contexts.length ? `Contexts (${shown.contexts.length})` : "No contexts";
  at("contexts").hidden = !shown.contexts.length;
  at("contexts").replaceChildren();
  for (const text of shown.contexts) make("li", text, at("contexts"));
  at("note").value = shown.note;
  at("error").textContent = "";
  drawScales();
  progress();
  document.body.dataset.ready = shown.id;
}

const isOpen = (scale) => scale.label === null && !scale.cannot_tell;

async function go(to) {
  if (!items.length) return;
  place = Math.min(Math.max(to, 0), items.length - 1);
  shown = await ask(`/item?id=${encodeURIComponent(items[place].id)}`);
  current = Math.max(0, shown.scales.findIndex(isOpen));
  draw();
  at("contexts").scrollTop = 0;
  window.scrollTo(0, 0);
}

function unfinished(from) {
  const order = items.map((_, n) => (from + n) % items.length);
  const found = order.find((n) => !items[n].complete);
  return found === undefined ? place : found;
}

// A label moves on to the next open question: of this answer, then of the next unfinished one.
async function say(number) {
  await keepNote();
  const was = items[place].complete;
  shown = await ask("/say", { id: shown.id, dimension: shown.scales[current].dimension, label: number });
  items[place].complete = shown.complete;
  if (number === null) return draw();
  const left = shown.scales.findIndex(isOpen);
  if (left >= 0) {
    current = left;
    return draw();
  }
  if (was) return draw();
  await go(unfinished(place + 1));
  at("card").focus();
}

// A note belongs to the answer on display, so it is saved before any other action.
let notes = Promise.resolve();
const keepNote = () => (notes = notes.catch(() => {}).then(keepNoteNow));

async function keepNoteNow() {
  if (!shown || at("note").value.trim() === shown.note) return;
  shown = await ask("/say", { id: shown.id, dimension: null, note: at("note").value });
}

const move = (to) => run(() => keepNote().then(() => go(to())));
const turn = (by) => {
  current = Math.min(Math.max(current + by, 0), shown.scales.length - 1);
  drawScales();
  document.querySelector("fieldset.current").scrollIntoView({ block: "nearest" });
};
const actions = {
  j: () => move(() => place + 1),
  k: () => move(() => place - 1),
  n: () => move(() => unfinished(place + 1)),
  u: () => run(() => say(null)),
  m: () => at("note").focus(),
  ArrowUp: () => turn(-1),
  ArrowDown: () => turn(1),
};
for (const number of [0, 1, 2, 3, 4, 5]) actions[number] = () => run(() => say(number));
const buttons = { next: "j", previous: "k", unfinished: "n" };
for (const [id, key] of Object.entries(buttons)) at(id).addEventListener("click", actions[key]);
at("done").addEventListener("click", () => run(keepNote).then(done));
at("note").addEventListener("change", () => keepNote().catch(fail));
document.addEventListener("keydown", (event) => {
  if (event.target === at("note")) {
    if (event.key === "Escape") at("note").blur();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(actions, event.key) || !shown) return;
  event.preventDefault();
  actions[event.key]();
});
ask("/items")
  .then((found) => {
    items = found;
    return go(unfinished(0));
  })
  .catch(fail);
