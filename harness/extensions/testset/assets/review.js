let rows = [];
let place = 0;
let shown = null;
let timesRead = null;

function list(id, lines) {
  at(id).replaceChildren();
  for (const line of lines) make("li", plain(line), at(id));
}

function progress() {
  const count = (state) => rows.filter((row) => row.state === state).length;
  const failed = count("failed") ? `; ${count("failed")} failed a check, at the end` : "";
  const seen = count("seen") + count("rejected");
  const kept = rows.filter((row) => row.state === "new" || row.state === "seen");
  const blank = kept.filter((row) => !row.question).length;
  const asked = blank ? ` rows, ${kept.length - blank} with a question` : "";
  at("key-failed").hidden = !count("failed");
  at("progress").textContent = `${place + 1} of ${rows.length}${asked}; ${seen} seen, ${count("rejected")} rejected${failed}`;
}

function quote(one) {
  const block = document.createElement("blockquote");
  make("cite", plain(one.title ? `${one.title} (${one.document})` : one.document), block);
  block.append(one.before);
  make("mark", one.quote, block);
  block.append(one.after);
  at("quotes").append(block);
}

function draw() {
  at("editor").hidden = true;
  at("card").hidden = false;
  const state = { new: "not seen yet", seen: `accepted by ${shown.seen_by}`, rejected: "rejected", failed: "rejected by a check" }[shown.state];
  const parts = [shown.id, shown.type, shown.made_by && `by ${shown.made_by}`, shown.edited && "edited", state];
  at("about").textContent = plain(parts.filter(Boolean).join(" \u00b7 "));
  at("question").textContent = shown.question || "(no question yet: edit)";
  at("answers").textContent = plain(answers().join(" | ")) || "none";
  at("quotes").replaceChildren();
  shown.quotes.forEach(quote);
  list("warnings", [...(shown.failed ? [`Rejected by a check: ${shown.failed}`] : []), ...shown.warnings]);
  const said = Object.entries(shown.checks && typeof shown.checks === "object" ? shown.checks : {});
  list("checks", said.map(([name, note]) => `${name}: ${typeof note === "string" ? note : JSON.stringify(note)}`));
  at("error").textContent = shown.told.join(" ");
  progress();
  document.body.dataset.ready = shown.id;
}

function answers() {
  return Array.isArray(shown.answers) ? shown.answers.map(String) : shown.answers ? [String(shown.answers)] : [];
}

// Somebody else changed the file, so its rows may differ.
async function follow() {
  if (timesRead !== null && timesRead !== shown.times_read) {
    rows = await ask("/rows");
    place = Math.max(0, rows.findIndex((row) => row.id === shown.id));
  }
  timesRead = shown.times_read;
}

async function go(to) {
  if (!rows.length) return void (at("progress").textContent = "no questions");
  place = Math.min(Math.max(to, 0), rows.length - 1);
  shown = await ask(`/row?id=${encodeURIComponent(rows[place].id)}`);
  await follow();
  draw();
}

function next(state) {
  const order = rows.map((_, n) => (place + 1 + n) % rows.length);
  const found = order.find((n) => rows[n].state === state);
  return found === undefined ? place : found;
}

async function decide(verdict, edit) {
  shown = await ask("/decide", { id: shown.id, verdict, edit: edit || null, version: shown.version });
  await follow();
  rows[place].state = shown.state;
  rows[place].question = shown.question;
  if (verdict === "undo" || shown.told.length) return draw();
  await go(next(shown.failed ? "failed" : "new"));
  at("card").focus();
}

function edit() {
  at("editor").hidden = false;
  at("edit-question").value = shown.question;
  at("edit-answers").value = answers().join("\n");
  at("edit-quotes").replaceChildren();
  for (const one of [...shown.quotes, { document: "", quote: "" }]) {
    const label = make("label", "Quote, word for word, and its document", at("edit-quotes"));
    const text = label.appendChild(document.createElement("textarea"));
    text.rows = 2;
    text.value = one.quote;
    const name = label.appendChild(document.createElement("input"));
    name.value = one.document;
  }
  at("edit-question").focus();
}

function edited() {
  const evidence = [...at("edit-quotes").children].map((label) => ({
    quote: label.querySelector("textarea").value,
    document: label.querySelector("input").value,
  }));
  const lines = at("edit-answers").value.split("\n").filter((line) => line.trim());
  return { question: at("edit-question").value, answers: lines, evidence: evidence.filter((one) => one.quote || one.document) };
}

const save = () => run(() => decide("accept", edited()));
const actions = {
  a: () => decide("accept"),
  r: () => decide("reject"),
  u: () => decide("undo"),
  e: async () => edit(),
  j: () => go(place + 1),
  k: () => go(place - 1),
  n: () => go(next("new")),
  f: () => go(next("failed")),
};
const buttons = { accept: "a", reject: "r", undo: "u", edit: "e", next: "j", previous: "k" };
for (const [id, key] of Object.entries(buttons)) at(id).addEventListener("click", () => run(actions[key]));
at("cancel").addEventListener("click", draw);
at("editor").addEventListener("submit", (event) => {
  event.preventDefault();
  save();
});
at("done").addEventListener("click", done);
document.addEventListener("keydown", (event) => {
  if (!at("editor").hidden) {
    if (event.key === "Escape") draw();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(actions, event.key) || !shown) return;
  event.preventDefault();
  run(actions[event.key]);
});
ask("/rows")
  .then((found) => {
    rows = found;
    place = rows.length - 1;
    return go(rows.some((row) => row.state === "new") ? next("new") : 0);
  })
  .catch(fail);
