let state = null;
let shown = null; // The pair on display.

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function drawState() {
  const takes = state.documents !== null;
  const says = {
    documents: "add documents to begin",
    preparing: `preparing: ${state.message || "the systems are being loaded"}`,
    ready: state.is_judged ? "ready; answers are judged" : "ready",
    failed: "the systems could not be prepared",
  };
  at("progress").textContent = plain(says[state.phase]);
  at("documents").hidden = !takes;
  at("form").hidden = state.phase !== "ready";
  at("names").replaceChildren();
  for (const name of state.documents || []) make("li", plain(name), at("names"));
  at("count").textContent = `Documents (${(state.documents || []).length})`;
  at("files").accept = state.kinds.join(",");
  at("prepare").disabled = at("clear").disabled = at("files").disabled = state.phase === "preparing";
  if (state.phase === "failed") fail({ message: plain(state.message) });
  at("tally").replaceChildren();
  if (state.votes) {
    at("tally").append(plain(`${state.votes}. In a terminal: `));
    make("code", plain(state.compare), at("tally"));
  }
  document.body.dataset.phase = state.phase;
}

async function follow() {
  for (;;) {
    const before = state && state.phase;
    state = await ask("/state");
    drawState();
    if (state.phase !== "preparing") {
      if (before !== "ready" && state.phase === "ready") {
        at("documents").open = false;
        at("question").focus();
      }
      return;
    }
    await pause(700);
  }
}

const readFile = (file) =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(new Error(`${file.name} cannot be read: add files, not folders`));
    reader.readAsDataURL(file);
  });

async function add(files) {
  at("error").textContent = "";
  for (const file of files) {
    if (file.size > state.largest) throw new Error(plain(`${file.name} has more than ${state.largest / 1e6} MB: start with --docs FOLDER instead`));
    at("progress").textContent = plain(`reading ${file.name}`);
    state = await ask("/document", { name: file.name, content: await readFile(file) });
  }
  drawState();
}

function passage(one, number, parent) {
  const block = document.createElement("blockquote");
  block.tabIndex = 0;
  make("cite", plain(`${number}. ${one.title}`), block);
  for (const [text, marked] of one.parts) {
    if (marked) make("mark", text, block);
    else block.append(text);
  }
  parent.append(block);
}

function passages(title, found, open, parent) {
  if (!found.length) return;
  const details = document.createElement("details");
  details.open = open;
  make("summary", `${title} (${found.length})`, details);
  for (const [one, number] of found) passage(one, number, details);
  parent.append(details);
}

function drawAnswer(one, place) {
  const letter = "AB"[place];
  const card = document.createElement("article");
  card.dataset.letter = letter;
  make("h3", plain(shown.names ? `${letter}: ${shown.names[place]}` : letter), card);
  card.classList.toggle("chosen", shown.choice === letter.toLowerCase());
  make("p", one.answer || "(empty)", card).className = one.is_ok ? "answer" : "answer failed";
  for (const line of one.judged) make("p", plain(line), card).className = "judged";
  if (one.support) make("p", `${one.support} of the answer's words are in the passages`, card).className = "label";
  make("p", plain(one.cost), card).className = "label";
  const numbered = one.passages.map((found, n) => [found, n + 1]);
  const supports = ([found]) => found.parts.some((part) => part[1]);
  passages("Passages with words of the answer", numbered.filter(supports), true, card);
  passages("Other passages", numbered.filter((found) => !supports(found)), false, card);
  at("answers").append(card);
  for (const block of card.querySelectorAll("blockquote:has(mark)")) block.scrollTop = block.querySelector("mark").offsetTop - 40;
}

function drawPair() {
  at("result").hidden = false;
  at("asked").textContent = shown.question;
  at("answers").replaceChildren();
  shown.answers.forEach(drawAnswer);
  const waits = shown.is_done ? "" : shown.answers.length ? "asking the second system" : "asking the first system";
  const said = { a: "Your vote: A.", b: "Your vote: B.", tie: "Your vote: both alike." };
  at("said").textContent = waits || said[shown.choice] || "";
  at("votes").hidden = shown.answers.length < 2 || shown.choice !== null;
  if (shown.error) fail({ message: plain(shown.error) });
  document.body.dataset.answers = String(shown.answers.length);
}

async function send() {
  at("error").textContent = "";
  const { id } = await ask("/ask", { question: at("question").value });
  let count = -1;
  for (;;) {
    const pair = await ask(`/answer?id=${encodeURIComponent(id)}`);
    shown = { ...pair, id };
    // Not at every poll: a passage that is being read would scroll back.
    if (pair.answers.length !== count || pair.is_done) drawPair();
    count = pair.answers.length;
    if (pair.is_done) break;
    await pause(500);
  }
  at("asked").focus();
}

async function vote(choice) {
  if (!shown || at("votes").hidden) return;
  at("error").textContent = "";
  shown = { ...(await ask("/vote", { id: shown.id, choice })), id: shown.id };
  drawPair();
  await follow();
}

at("files").addEventListener("change", () => run(() => add([...at("files").files]).finally(() => (at("files").value = ""))));
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    at("drop").classList.toggle("over", kind === "dragover");
    if (kind === "drop" && state && state.documents !== null) run(() => add([...event.dataTransfer.files]));
  });
}
at("prepare").addEventListener("click", () => run(() => {
  at("error").textContent = "";
  return ask("/prepare", {}).then(follow);
}));
at("clear").addEventListener("click", () => run(async () => {
  state = await ask("/clear", {});
  drawState();
}));
at("form").addEventListener("submit", (event) => {
  event.preventDefault();
  run(send);
});
at("question").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  run(send);
});
for (const button of document.querySelectorAll("[data-choice]")) button.addEventListener("click", () => run(() => vote(button.dataset.choice)));
at("done").addEventListener("click", done);
document.addEventListener("keydown", (event) => {
  const choice = { a: "a", b: "b", t: "tie" }[event.key];
  if (!choice || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("textarea, input")) return;
  event.preventDefault();
  run(() => vote(choice));
});
follow().catch(fail);
