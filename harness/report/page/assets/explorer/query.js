// One query: gold, and what A and B made of it, side by side.

class QueryView {
  constructor(explorer) {
    this.explorer = explorer;
    this.turn = 0;
    const button = (text, label, act) => {
      const made = make("button", { type: "button", "aria-label": label, title: label }, text);
      made.addEventListener("click", act);
      return made;
    };
    this.place = make("span", { className: "ex-place" });
    this.link = make("a", { className: "ex-link", title: "This query in this file: to share, copy the link or the address" }, "Link");
    this.back = button("←", "Previous match", () => this.step(-1));
    this.next = button("→", "Next match", () => this.step(1));
    this.body = make("div", { className: "ex-body" });
    this.dialog = make("dialog", { className: "ex-dialog", "aria-label": "One query" },
      make("div", { className: "ex-bar" }, this.back, this.next, this.place, this.link,
        button("Close", "Close (Escape)", () => this.dialog.close())),
      this.body);
    this.dialog.addEventListener("close", () => {
      address("");
      explorer.focusRow(this.at);
    });
    this.dialog.addEventListener("click", (event) => {
      if (event.target === this.dialog) this.dialog.close();
    });
    this.dialog.addEventListener("keydown", (event) => {
      if (event.target.closest("select, input") || event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.key === "ArrowLeft") this.step(-1);
      if (event.key === "ArrowRight") this.step(1);
    });
  }

  step(by) {
    const to = this.at + by;
    if (to >= 0 && to < this.explorer.matches.length) this.open(to);
  }

  /** The match of that number, with A and B side by side. */
  async open(at) {
    const { explorer } = this;
    this.at = at;
    this.query = explorer.matches[at];
    this.sides = [explorer.a, explorer.b].filter((run, place, all) => all.indexOf(run) === place);
    this.place.textContent = `${count(at + 1)} of ${plural(explorer.matches.length, "match", "matches")}`;
    this.back.disabled = at === 0;
    this.next.disabled = at === explorer.matches.length - 1;
    this.addressed();
    if (!this.dialog.open) this.dialog.showModal();
    await this.show();
    this.dialog.scrollTop = 0;
  }

  /** The address of this query, with what stands side by side: anybody who has the file can open it. */
  addressed() {
    const { explorer } = this;
    const [a, b = a] = this.sides;
    this.link.href = `#${new URLSearchParams({ q: explorer.core.queries.id[this.query], in: explorer.data.name, a, b })}`;
    address(this.link.getAttribute("href"));
  }

  async show() {
    this.turn += 1;
    const { turn, query, explorer } = this;
    const details = await this.details();
    const facts = details ? details.gold : [];
    const texts = details ? await explorer.data.texts(explorer.core, this.wanted(details)) : new Map();
    const docs = details ? await explorer.data.json("docs") : [];
    if (turn !== this.turn) return; // another query was asked for meanwhile
    const known = { details, texts, docs, facts: facts.map((at) => ({ doc: texts.get(at)[2][0], text: plain(texts.get(at)[0]) })) };
    const columns = this.sides.map((run, side) => this.column(known, run, side));
    this.body.replaceChildren(
      ...this.head(known, columns.map((one) => one.found)),
      make("div", { className: `ex-columns ex-columns-${columns.length}` }, ...columns.map((one) => one.element)),
    );
    this.dialog.dataset.query = explorer.core.queries.id[query];
  }

  async details() {
    const { core, data } = this.explorer;
    if (this.query >= core.detailed) return null;
    const unit = await data.json(`d${Math.floor(this.query / core.unit)}`);
    const place = this.query % core.unit;
    let records = 0; // Scores are in the order of the unit's records.
    const runs = unit.runs.map((queries) => queries.map((repeats) => repeats.map((one) => {
      records += 1;
      return { ...one, number: records - 1 };
    }))[place]);
    return { gold: unit.gold[place], runs, scores: unit.scores };
  }

  wanted(details) {
    const shown = this.sides.flatMap((run) => details.runs[run]);
    const contexts = shown.flatMap((one) => [...(one.contexts || []), ...(one.evidence || [])]);
    return [...contexts.map(([text]) => text), ...details.gold];
  }

  head(known, found) {
    const { core } = this.explorer;
    const { query } = this;
    const gold = core.queries.gold[query];
    const answers = gold.length
      ? gold.map((one) => foreign("li", one))
      : [make("li", { className: "ex-muted" }, "the data set gives no reference answer")];
    const facts = known.facts.map((fact, at) => make("li", null,
      foreign("span", fact.text),
      make("span", { className: "ex-note" }, " ", foreign("cite", known.docs[fact.doc]), ...this.ranks(found, at))));
    return [
      make("p", { className: "ex-note" }, foreign("code", core.queries.id[query]), " · ", core.types[core.queries.type[query]]),
      foreign("h3", core.queries.text[query]),
      make("h4", null, gold.length > 1 ? "Gold answers: any of them is right" : "Gold answer"),
      make("ul", { className: "ex-gold" }, ...answers),
      facts.length ? make("h4", null, "Gold facts") : null,
      facts.length ? make("ol", { className: "ex-facts" }, ...facts) : null,
      this.everyone(),
    ].filter(Boolean);
  }

  /** Where the fact of that number stands, side by side. */
  ranks(found, at) {
    return this.sides.map((run, side) => {
      const rank = found[side] && found[side][at];
      if (rank === undefined || rank === null) return " · not in " + this.explorer.core.runs[run].label;
      return make("strong", null, ` · ${this.explorer.core.runs[run].label}: context ${rank}`);
    });
  }

  /** What every system answered, shortly. */
  everyone() {
    const { core } = this.explorer;
    if (core.runs.length <= this.sides.length) return null;
    const rows = core.runs.map((run, at) => make("tr", null,
      make("th", { scope: "row" }, run.label),
      make("td", null, chip(this.explorer.verdictOf(at, this.query), run.label)),
      foreign("td", run.answers[this.query] ?? (run.status[this.query] === STATUS.answered ? "no generator: contexts only" : "–"))));
    return fold(`What all ${core.runs.length} systems answered`, false,
      make("table", { className: "ex-all" }, make("tbody", null, ...rows)));
  }

  column(known, run, side) {
    const { explorer } = this;
    const { core } = explorer;
    const choice = make("select", { className: "ex-side", "aria-label": `System ${"AB"[side]}` },
      ...core.runs.map((one, at) => option(at, one.label)));
    choice.value = String(run);
    choice.addEventListener("change", async () => {
      this.sides[side] = Number(choice.value);
      this.addressed();
      await this.show();
      this.body.querySelectorAll(".ex-side")[side].focus();
    });
    const head = make("header", null,
      core.runs.length > 1 ? choice : make("h4", null, core.runs[run].label),
      chip(explorer.verdictOf(run, this.query), core.runs[run].label));
    const repeats = known.details ? known.details.runs[run] : [];
    const found = known.facts.map(() => null);
    const why = this.why(known, run, repeats[0]);
    const shown = repeats.map((one, at) => this.record(known, { run, at, one, found }));
    if (!repeats.length) shown.push(this.leftOut(run));
    const parts = shown.length > 1
      ? shown.map((part, at) => fold(`Repeat ${at + 1} of ${shown.length}`, at === 0, ...part))
      : shown[0];
    return { found, element: make("section", { className: "ex-column", "aria-label": core.runs[run].label }, head, ...why, ...parts) };
  }

  /** Of what kind this answer is by every measure that sorts answers; the reason of its first repeat. */
  why(known, run, record) {
    const { core } = this.explorer;
    const found = new Map();
    core.kinds.forEach((one, at) => one.labels.forEach(([title, advice], bit) => {
      if (!(core.runs[run].kinds[at][this.query] & (1 << bit))) return;
      const column = known.details && record ? known.details.scores[core.measures.findIndex((measure) => measure.name === one.name)] : null;
      const reason = column ? column.reasons[column.why[record.number]] : "";
      const same = `${title}\n${reason}`;
      if (!found.has(same)) found.set(same, { title, advice, reason, of: [] });
      found.get(same).of.push(one.title);
    }));
    return [...found.values()].map(({ title, advice, reason, of }) =>
      make("p", { className: "ex-why", title: advice }, `${of.join(", ")}: `, make("strong", null, title), reason ? foreign("span", ` (${reason})`) : null));
  }

  leftOut(run) {
    const { core } = this.explorer;
    const answer = core.runs[run].answers[this.query];
    return [
      make("h4", null, "Answer"),
      answer === null ? make("p", { className: "ex-muted" }, "no answer") : foreign("p", answer, "ex-answer"),
      make("p", { className: "ex-note" }, "Contexts, trace, times and explanations of this query are not in this file, which has them for the first ",
        `${plural(core.detailed, "query", "queries")}. In a terminal: `, this.command(run)),
    ];
  }

  command(run) {
    const { core } = this.explorer;
    return foreign("code", `rag-harness show ${core.runs[run].id} ${core.queries.id[this.query]}`);
  }

  /** One record: what the system did with the query. */
  record(known, { run, one, found }) {
    if (!one.cost) return [make("p", { className: "ex-muted" }, "No record: the run is unfinished."), ...this.scores(known, one)];
    const { contexts = [], evidence = [], trace = [] } = one;
    const failure = one.failure && make("p", { className: "ex-failure" }, make("strong", null, one.failure[0], ": "), ...this.long(one.failure[1], run));
    const answer = one.answer === undefined
      ? make("p", { className: "ex-muted" }, one.failure ? "no answer" : "no generator: contexts only")
      : make("p", { className: "ex-text ex-answer", dir: "auto" }, ...(one.answer === "" ? ["(empty)"] : this.long(one.answer, run)));
    const proof = evidence.map(([text]) => plain(known.texts.get(text)[0]));
    const list = contexts.map((context, at) => this.context(known, context, { run, rank: at + 1, found, proof }));
    return [
      make("h4", null, "Answer", one.attempt ? ` (attempt ${one.attempt})` : ""),
      failure || null,
      answer,
      make("h4", null, `Contexts (${contexts.length})`),
      contexts.length ? make("ol", { className: "ex-contexts" }, ...list) : make("p", { className: "ex-muted" }, "none"),
      evidence.length ? fold(`Evidence the system offers (${evidence.length})`, false,
        make("ol", { className: "ex-contexts" }, ...evidence.map((context, at) => this.context(known, context, { run, rank: at + 1, found: null, proof: [] })))) : null,
      trace.length ? fold(`Trace (${plural(trace.length, "step")})`, false,
        make("ol", { className: "ex-trace" }, ...trace.map(([name, content]) => make("li", null, foreign("strong", name), make("div", { className: "ex-text ex-pre", dir: "auto" }, ...this.long(content, run)))))) : null,
      ...this.cost(one.cost),
      ...this.scores(known, one),
    ].filter(Boolean);
  }

  /** A text that may have been cut. */
  long(text, run) {
    if (!Array.isArray(text)) return [text];
    return [text[0], make("span", { className: "ex-note" }, ` … ${count(text[1])} more characters: `, this.command(run))];
  }

  context(known, [text, score], { run, rank, found, proof }) {
    const [whole, kind, docs, place] = known.texts.get(text);
    const shown = plain(whole);
    const { found: where, merged } = places(shown, known.facts.map((fact) => fact.text));
    where.forEach((place, at) => {
      if (found && place && found[at] === null) found[at] = rank;
    });
    const proved = places(shown, proof);
    const gold = new Set(known.facts.map((fact) => fact.doc));
    const names = docs.map((doc) => make("span", { className: gold.has(doc) ? "ex-doc ex-doc-gold" : "ex-doc" },
      gold.has(doc) ? make("b", null, "gold ") : null, foreign("span", known.docs[doc])));
    const head = [
      make("span", { className: "ex-rank" }, String(rank)),
      kind === "passage" ? null : make("span", { className: "ex-kind" }, kind),
      ...names,
      place ? foreign("span", place, "ex-kind") : null,
      score === null ? null : make("span", { className: "ex-score" }, `score ${number(score)}`),
      merged.length ? make("span", { className: "ex-found" }, plural(where.filter(Boolean).length, "gold fact")) : null,
      proved.merged.length ? make("span", { className: "ex-kind" }, "holds evidence offered") : null,
    ];
    const triplet = kind === "triplet" && /^\(([^]*)\)-\[([^]*?)\]->\(([^]*)\)$/.exec(shown);
    if (triplet) {
      return make("li", null, make("div", { className: "ex-line" }, ...head.filter(Boolean)), this.triplet(triplet));
    }
    const body = make("div", { className: "ex-text ex-pre", dir: "auto" }, ...highlighted(shown, merged, proved.merged),
      ...(Array.isArray(whole) ? this.long(["", whole[1]], run).slice(1) : []));
    return make("li", null, fold(head.filter(Boolean), merged.length > 0 || rank === 1 || shown.length < 400, body));
  }

  triplet([, head, relation, tail]) {
    return make("p", { className: "ex-triplet" }, foreign("span", head, "ex-node"), " -[", foreign("i", relation), "]-> ", foreign("span", tail, "ex-node"));
  }

  cost(cost) {
    const longest = Math.max(...cost.stages.map(([, taken]) => taken || 0), cost.latency_s || 0, 1e-9);
    const bars = cost.stages.map(([name, taken]) => {
      const bar = make("span", { className: "ex-bar-of" });
      bar.style.width = `${(100 * (taken || 0)) / longest}%`;
      return make("tr", null, foreign("th", name), make("td", { className: "ex-track" }, bar), make("td", { className: "ex-number" }, seconds(taken)));
    });
    const notes = [
      cost.throttled_s >= 0.01 ? `${seconds(cost.throttled_s)} more waiting for limits of a provider, ${seconds(cost.wall_s)} in all` : null,
      cost.replayed ? `${plural(cost.replayed, "call")} answered from the journal: these seconds are no latency` : null,
      cost.cached ? `${plural(cost.cached, "vector")} from the cache: these seconds are no latency` : null,
      cost.unmetered ? `${plural(cost.unmetered, "call")} without token counts: tokens are lower bounds` : null,
    ].filter(Boolean);
    const tokens = cost.usage.map(([role, calls, input, output]) => make("tr", null, make("th", { scope: "row" }, role),
      ...[calls, input, output].map((value) => make("td", { className: "ex-number" }, value === null ? "–" : count(value)))));
    return [
      make("h4", null, `Time: ${seconds(cost.latency_s)}`),
      notes.length ? make("p", { className: "ex-note" }, notes.join("; ")) : null,
      bars.length ? make("table", { className: "ex-stages" }, make("tbody", null, ...bars)) : null,
      tokens.length ? make("table", { className: "ex-tokens" },
        make("thead", null, make("tr", null, ...["Tokens", "calls", "input", "output"].map((name) => make("th", { scope: "col" }, name)))),
        make("tbody", null, ...tokens)) : null,
    ];
  }

  /** Every score of a record with its reason, by evaluator. */
  scores(known, one) {
    const { measures } = this.explorer.core;
    const evaluators = new Map();
    known.details.scores.forEach((scores, at) => {
      const told = scores.status[one.number];
      if (told === "-") return;
      const { name, summary, evaluator } = measures[at];
      const value = scores.value[one.number];
      const words = { s: "", i: "imputed", f: "failed", m: "no answer yet", n: "not applicable" }[told];
      const row = make("tr", { className: `ex-score-${told}` },
        make("th", { scope: "row", title: summary }, name),
        make("td", { className: "ex-number" }, value === null ? words : `${number(value)}${words ? ` (${words})` : ""}`),
        foreign("td", scores.reasons[scores.why[one.number]]));
      if (!evaluators.has(evaluator)) evaluators.set(evaluator, []);
      evaluators.get(evaluator).push(row);
    });
    const chosen = this.explorer.measure ? this.explorer.measure.evaluator : "";
    const folds = [...evaluators].map(([evaluator, rows]) =>
      fold(`${evaluator} (${rows.length})`, evaluator === chosen, make("table", { className: "ex-scores" }, make("tbody", null, ...rows))));
    return [make("h4", null, "Scores"), ...(folds.length ? folds : [make("p", { className: "ex-muted" }, "none")])];
  }
}

const plain = (text) => (Array.isArray(text) ? text[0] : text);
