// The per-query explorer. Texts of data sets and models reach the page through text nodes only.
"use strict";
(() => {
  const PAGE = 100; // rows that are listed at once
  const FIRST = 20; // of them in the first frame: as many as a screen shows; the others come right after it
  const STATUS = { answered: 1, abstained: 2, failed: 4, timeout: 8, missing: 16 };
  // What Python's str.split() takes for white space: facts are found as the retrieval measures find them.
  const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;
  const RELATIONS = {
    all: "every query",
    rightWrong: "A right and B wrong",
    wrongRight: "A wrong and B right",
    bothRight: "both right",
    bothWrong: "both wrong",
    better: "A better than B",
    worse: "B better than A",
    differ: "they differ",
  };
  const STATES = {
    "": "any",
    everyone: "every system answered",
    abstained: "a system gave no answer",
    failed: "a system failed",
    timeout: "a system timed out",
    missing: "a system has no record",
  };

  // --- small tools

  const count = (n) => n.toLocaleString("en-US");
  const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
  const number = (value) => (Number.isInteger(value) ? count(value) : String(Number(value.toPrecision(3))));
  const seconds = (value) => (value === null || value === undefined ? "–" : `${number(value)} s`);

  /** An element; strings among the children become text, whatever is in them. */
  function make(tag, properties, ...children) {
    const { data, ...rest } = properties || {};
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(rest)) {
      if (name in element) element[name] = value;
      else element.setAttribute(name, value);
    }
    Object.assign(element.dataset, data);
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }

  /** Text from a data set or a model: set apart, so that its direction marks end with it. */
  const foreign = (tag, text, className) => make(tag, { className: `ex-text ${className || ""}`, dir: "auto" }, text);

  function option(value, text) {
    return make("option", { value: String(value) }, text);
  }

  function fold(title, open, ...children) {
    return make("details", { open }, make("summary", null, ...[].concat(title)), ...children);
  }

  // --- the blocks of the page

  /** Base64 to bytes; by the browser where it can, which is many times faster. */
  function decoded(text) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const letters = atob(text);
    return Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  }

  async function unpacked(id) {
    const stream = new Blob([decoded(document.getElementById(id).textContent.trim())]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  const parsed = (bytes) => JSON.parse(new TextDecoder().decode(bytes));

  /** What a group's blocks hold, each unpacked when it is first asked for. */
  class Data {
    constructor(name) {
      this.name = name;
      this.kept = new Map();
    }

    once(block, read) {
      if (!this.kept.has(block)) this.kept.set(block, unpacked(block).then(read));
      return this.kept.get(block);
    }

    json(part) {
      return this.once(`${this.name}-${part}`, parsed);
    }

    /** Of one measure: the distinct cells, and for run * queries + query which of them. */
    values(block) {
      return this.once(block, (bytes) => {
        const end = bytes.indexOf(10);
        const cells = parsed(bytes.subarray(0, end)).map(([status, value]) => ({ status, value }));
        const planes = bytes.subarray(end + 1);
        const width = cells.length > 65536 ? (cells.length > 16777216 ? 4 : 3) : cells.length > 256 ? 2 : 1;
        const codes = new Uint32Array(planes.length / width);
        for (let plane = 0; plane < width; plane += 1) {
          for (let at = 0; at < codes.length; at += 1) {
            codes[at] += planes[plane * codes.length + at] * 2 ** (8 * plane);
          }
        }
        return { cells, codes };
      });
    }

    /** Texts by number. */
    async texts(core, numbers) {
      const found = new Map();
      await Promise.all([...new Set(numbers)].map(async (wanted) => {
        let low = 0;
        let high = core.texts.length - 1;
        while (low < high) {
          const middle = (low + high + 1) >> 1;
          if (core.texts[middle] <= wanted) low = middle;
          else high = middle - 1;
        }
        found.set(wanted, (await this.json(`t${low}`))[wanted - core.texts[low]]);
      }));
      return found;
    }
  }

  // --- verdicts

  /** Letter, colour and words of one run's result for one query. */
  function verdict(cell, status, measure, range) {
    const told = (letter, tone, words) => ({ letter, tone, words });
    if (cell && cell.value !== null) {
      if (cell.status === "i" && status & STATUS.timeout) return told("T", "bad", "timed out");
      if (cell.status === "i") return told("F", "bad", "failed");
      if (measure.binary && cell.value === (measure.up === false ? 0 : 1)) return told("R", "good", "right");
      if (measure.binary && cell.value !== 0 && cell.value !== 1) {
        return told(number(cell.value), "mid", `right in ${number(100 * rightness(cell, measure))} % of repeats`);
      }
      if (measure.binary && status & STATUS.abstained) return told("N", "warn", "gave no answer, which is wrong");
      if (measure.binary) return told("W", "bad", "wrong");
      return told(number(cell.value), tone(cell.value, measure, range), `${measure.name} ${number(cell.value)}`);
    }
    if (status & STATUS.timeout) return told("T", "bad", "timed out");
    if (status & STATUS.failed) return told("F", "bad", "failed");
    if (status & STATUS.missing) return told("–", "none", "no record yet");
    if (cell && cell.status === "f") return told("?", "warn", "could not be scored");
    if (cell && cell.status === "n") return told("n/a", "none", "does not apply");
    if (status & STATUS.abstained) return told("N", "warn", "gave no answer, not scored");
    return told("–", "none", "not scored");
  }

  const rightness = (cell, measure) => (measure.up === false ? 1 - cell.value : cell.value);

  /** Thirds of what the measure's values span in this group. */
  function tone(value, measure, [low, high]) {
    if (measure.up === null || high === low) return "mid";
    const share = measure.up ? (value - low) / (high - low) : (high - value) / (high - low);
    return share >= 2 / 3 ? "good" : share <= 1 / 3 ? "bad" : "mid";
  }

  function chip(found, label) {
    const words = label ? `${label}: ${found.words}` : found.words;
    return make("span", { className: `ex-chip ex-${found.tone}`, title: words, role: "img", "aria-label": words }, found.letter);
  }

  // --- gold facts in a text

  /** [start, end] of every fact that stands in the text, white space aside, merged and in order. */
  function places(text, facts) {
    let squeezed = "";
    const origin = [];
    for (let at = 0; at < text.length; at += 1) {
      if (!SPACE.test(text[at])) {
        squeezed += text[at];
        origin.push(at);
      }
    }
    const found = facts.map((fact) => {
      const wanted = [...fact].filter((letter) => !SPACE.test(letter)).join("");
      const at = wanted ? squeezed.indexOf(wanted) : -1;
      return at < 0 ? null : [origin[at], origin[at + wanted.length - 1] + 1];
    });
    const merged = [];
    for (const [start, end] of found.filter(Boolean).sort((one, other) => one[0] - other[0])) {
      const last = merged[merged.length - 1];
      if (last && start <= last[1]) last[1] = Math.max(last[1], end);
      else merged.push([start, end]);
    }
    return { found, merged };
  }

  function highlighted(text, merged) {
    const parts = [];
    let at = 0;
    for (const [start, end] of merged) {
      parts.push(text.slice(at, start), make("mark", null, text.slice(start, end)));
      at = end;
    }
    return [...parts, text.slice(at)];
  }

  // --- one query

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
      this.back = button("←", "Previous match", () => this.step(-1));
      this.next = button("→", "Next match", () => this.step(1));
      this.body = make("div", { className: "ex-body" });
      this.dialog = make("dialog", { className: "ex-dialog", "aria-label": "One query" },
        make("div", { className: "ex-bar" }, this.back, this.next, this.place,
          button("Close", "Close (Escape)", () => this.dialog.close())),
        this.body);
      this.dialog.addEventListener("close", () => explorer.focusRow(this.at));
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
      if (!this.dialog.open) this.dialog.showModal();
      await this.show();
      this.dialog.scrollTop = 0;
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
        await this.show();
        this.body.querySelectorAll(".ex-side")[side].focus();
      });
      const head = make("header", null,
        core.runs.length > 1 ? choice : make("h4", null, core.runs[run].label),
        chip(explorer.verdictOf(run, this.query), core.runs[run].label));
      const repeats = known.details ? known.details.runs[run] : [];
      const found = known.facts.map(() => null);
      const shown = repeats.map((one, at) => this.record(known, { run, at, one, found }));
      if (!repeats.length) shown.push(this.leftOut(run));
      const parts = shown.length > 1
        ? shown.map((part, at) => fold(`Repeat ${at + 1} of ${shown.length}`, at === 0, ...part))
        : shown[0];
      return { found, element: make("section", { className: "ex-column", "aria-label": core.runs[run].label }, head, ...parts) };
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
      const list = contexts.map((context, at) => this.context(known, context, { run, rank: at + 1, found }));
      return [
        make("h4", null, "Answer", one.attempt ? ` (attempt ${one.attempt})` : ""),
        failure || null,
        answer,
        make("h4", null, `Contexts (${contexts.length})`),
        contexts.length ? make("ol", { className: "ex-contexts" }, ...list) : make("p", { className: "ex-muted" }, "none"),
        evidence.length ? fold(`Evidence the system offers (${evidence.length})`, false,
          make("ol", { className: "ex-contexts" }, ...evidence.map((context, at) => this.context(known, context, { run, rank: at + 1, found: null })))) : null,
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

    context(known, [text, score], { run, rank, found }) {
      const [whole, kind, docs] = known.texts.get(text);
      const shown = plain(whole);
      const { found: where, merged } = places(shown, known.facts.map((fact) => fact.text));
      where.forEach((place, at) => {
        if (found && place && found[at] === null) found[at] = rank;
      });
      const gold = new Set(known.facts.map((fact) => fact.doc));
      const names = docs.map((doc) => make("span", { className: gold.has(doc) ? "ex-doc ex-doc-gold" : "ex-doc" },
        gold.has(doc) ? make("b", null, "gold ") : null, foreign("span", known.docs[doc])));
      const head = [
        make("span", { className: "ex-rank" }, String(rank)),
        kind === "passage" ? null : make("span", { className: "ex-kind" }, kind),
        ...names,
        score === null ? null : make("span", { className: "ex-score" }, `score ${number(score)}`),
        merged.length ? make("span", { className: "ex-found" }, plural(where.filter(Boolean).length, "gold fact")) : null,
      ];
      const triplet = kind === "triplet" && /^\(([^]*)\)-\[([^]*?)\]->\(([^]*)\)$/.exec(shown);
      if (triplet) {
        return make("li", null, make("div", { className: "ex-line" }, ...head.filter(Boolean)), this.triplet(triplet));
      }
      const body = make("div", { className: "ex-text ex-pre", dir: "auto" }, ...highlighted(shown, merged),
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
        cost.throttled_s >= 0.01 ? `${seconds(cost.throttled_s)} more waiting for rate limits` : null,
        cost.replayed ? `${plural(cost.replayed, "call")} answered from the journal: these seconds are no latency` : null,
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
        const words = { s: "", i: "imputed", f: "failed", n: "not applicable" }[told];
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

  // --- the list and its filters

  class Explorer {
    constructor(root, data, core) {
      Object.assign(this, { root, data, core, matches: [], shown: PAGE, current: 0 });
      this.a = 0;
      this.b = Math.min(1, core.runs.length - 1);
      this.view = new QueryView(this);
      root.replaceChildren(...this.controls(), this.note(), this.list(), this.view.dialog);
    }

    get measure() {
      return this.core.measures[Number(this.inputs.measure.value)] || null;
    }

    controls() {
      const { core } = this;
      const select = (pairs) => make("select", null, ...pairs.map(([value, text]) => option(value, text)));
      const runs = core.runs.map((run, at) => [at, run.label]);
      const measures = core.measures.map((one, at) => [at, one]).filter(([, one]) => one.block);
      this.inputs = {
        words: make("input", { type: "search", placeholder: "words of query, id, answer", autocomplete: "off", spellcheck: false }),
        relation: select(Object.entries(RELATIONS)),
        a: select(runs),
        b: select(runs),
        measure: select(measures.length ? measures.map(([at, one]) => [at, one.name]) : [[-1, "no scores"]]),
        type: select([["", "all types"], ...core.types.map((name, at) => [at, name])]),
        status: select(Object.entries(STATES)),
        order: select([["asked", "as asked"], ["ahead", "A ahead of B first"], ["behind", "B ahead of A first"]]),
      };
      this.inputs.b.value = String(this.b);
      const names = { words: "Search", relation: "Show", a: "System A", b: "System B", measure: "Measure", type: "Type", status: "Status", order: "Order" };
      const several = core.runs.length > 1;
      const fields = Object.entries(this.inputs).map(([name, input]) => {
        input.addEventListener(name === "words" ? "input" : "change", () => this.refresh());
        const field = make("label", { className: `ex-field ex-field-${name}` }, make("span", null, names[name]), input);
        field.hidden = !several && ["relation", "a", "b", "order"].includes(name);
        return field;
      });
      this.inputs.words.addEventListener("keydown", (event) => {
        if (event.key === "ArrowDown" || event.key === "Enter") {
          event.preventDefault();
          this.focusRow(0);
        }
      });
      const reset = make("button", { type: "button", className: "ex-reset" }, "Reset");
      reset.addEventListener("click", () => this.reset());
      this.counter = make("p", { className: "ex-count", role: "status", "aria-live": "polite" });
      const keys = [["/", "search"], ["↑ ↓", "move"], ["Enter", "open"], ["← →", "next query"], ["Esc", "close"]];
      const hint = make("p", { className: "ex-hint" }, ...keys.flatMap(([key, does]) => [make("kbd", null, key), ` ${does}  `]));
      return [
        make("form", { className: "ex-controls", role: "search", onsubmit: (event) => event.preventDefault() }, ...fields),
        make("div", { className: "ex-status" }, this.counter, reset, hint),
      ];
    }

    note() {
      const { core } = this;
      const all = core.queries.id.length;
      if (core.detailed >= all) return "";
      return make("p", { className: "ex-note ex-left-out" },
        `To keep this file small, contexts, traces, times and explanations are in it for the first ${count(core.detailed)} of ${count(all)} queries; `,
        "answers and scores for all. The others in a terminal: ", make("code", null, "rag-harness show RUN QUERY"));
    }

    list() {
      this.header = make("tr");
      this.rows = make("tbody");
      this.more = make("button", { type: "button", className: "ex-more" });
      this.more.addEventListener("click", () => {
        const first = this.shown;
        this.shown += PAGE;
        this.render();
        this.focusRow(first);
      });
      this.rows.addEventListener("click", (event) => {
        const row = event.target.closest("tr");
        if (row) this.view.open(Number(row.dataset.at));
      });
      this.rows.addEventListener("keydown", (event) => this.move(event));
      this.legend = make("p", { className: "ex-legend" });
      return make("div", { className: "ex-list" },
        make("div", { className: "ex-scroll" }, make("table", { className: "ex-table" }, make("thead", null, this.header), this.rows)),
        this.more, this.legend);
    }

    reset() {
      for (const [name, input] of Object.entries(this.inputs)) {
        if (name === "words") input.value = "";
        else input.selectedIndex = name === "b" ? Math.min(1, input.length - 1) : 0;
      }
      this.refresh();
      this.inputs.words.focus();
    }

    /** Reads the controls, unpacks the measure if it is a new one, and shows the matches. */
    async refresh() {
      const measure = this.measure;
      this.table = measure ? await this.data.values(measure.block) : null;
      if (measure !== this.measure) return; // chosen anew while this one was unpacked
      this.a = Number(this.inputs.a.value);
      this.b = Number(this.inputs.b.value);
      this.range = this.table ? span(this.table.cells) : [0, 1];
      const binary = Boolean(measure && measure.binary);
      for (const one of this.inputs.relation.options) {
        one.disabled = !measure && one.value !== "all" || !binary && /Right|Wrong/.test(one.value);
      }
      if (this.inputs.relation.selectedOptions[0].disabled) this.inputs.relation.value = "all";
      this.shown = PAGE;
      this.current = 0;
      this.matches = this.found();
      this.render();
      this.root.dispatchEvent(new CustomEvent("explorer-shown"));
    }

    cell(run, query) {
      return this.table ? this.table.cells[this.table.codes[run * this.core.queries.id.length + query]] : null;
    }

    verdictOf(run, query) {
      return verdict(this.cell(run, query), this.core.runs[run].status[query], this.measure || {}, this.range);
    }

    /** How far A is ahead of B; null where one of them has no value. */
    lead(query) {
      const [one, other] = [this.cell(this.a, query), this.cell(this.b, query)];
      if (!one || !other || one.value === null || other.value === null) return null;
      return (this.measure.up === false ? -1 : 1) * (one.value - other.value);
    }

    found() {
      const { core, inputs } = this;
      const words = inputs.words.value.toLowerCase().split(/\s+/).filter(Boolean);
      const type = inputs.type.value === "" ? null : Number(inputs.type.value);
      const [relation, status] = [inputs.relation.value, inputs.status.value];
      const haystacks = words.length ? this.haystacks() : [];
      const fits = (query) =>
        (type === null || core.queries.type[query] === type) &&
        (!status || this.hasStatus(query, status)) &&
        (relation === "all" || this.relates(query, relation)) &&
        words.every((word) => haystacks[query].includes(word));
      const matches = [];
      for (let query = 0; query < core.queries.id.length; query += 1) {
        if (fits(query)) matches.push(query);
      }
      return this.ordered(matches, inputs.order.value);
    }

    ordered(matches, order) {
      if (order === "asked") return matches;
      const sign = order === "ahead" ? -1 : 1;
      const leads = new Map(matches.map((query) => [query, this.lead(query)]));
      const rank = (query) => (leads.get(query) === null ? Infinity : sign * leads.get(query));
      return matches.sort((one, other) => (rank(one) === rank(other) ? one - other : rank(one) - rank(other)));
    }

    hasStatus(query, status) {
      const { runs } = this.core;
      if (status === "everyone") return runs.every((run) => !(run.status[query] & ~(STATUS.answered | STATUS.abstained)));
      return runs.some((run) => run.status[query] & STATUS[status]);
    }

    relates(query, relation) {
      const lead = this.lead(query);
      if (relation === "better") return lead > 0;
      if (relation === "worse") return lead !== null && lead < 0;
      if (relation === "differ") return Boolean(lead);
      const [one, other] = [this.a, this.b].map((run) => {
        const cell = this.cell(run, query);
        return cell.value === null ? null : rightness(cell, this.measure);
      });
      const [first, second] = { rightWrong: [1, 0], wrongRight: [0, 1], bothRight: [1, 1], bothWrong: [0, 0] }[relation];
      return one === first && other === second;
    }

    /** Query, id and answers in lower case, made at the first search. */
    haystacks() {
      const { queries, runs } = this.core;
      this.lower ??= queries.id.map((id, query) =>
        [id, queries.text[query], ...queries.gold[query], ...runs.map((run) => run.answers[query] || "")].join("\n").toLowerCase());
      return this.lower;
    }

    render() {
      const { core, matches } = this;
      const all = core.queries.id.length;
      this.counter.textContent = matches.length === all ? plural(all, "query", "queries") : `${count(matches.length)} of ${count(all)} queries`;
      this.header.replaceChildren(make("th", { scope: "col" }, "Query"), make("th", { scope: "col" }, "Type"),
        ...core.runs.map((run, at) => make("th", { scope: "col", className: `ex-run${this.side(at) ? "" : " ex-other"}`, title: run.id },
          this.side(at) ? make("b", { className: "ex-ab" }, this.side(at)) : null, run.label)));
      this.rows.replaceChildren();
      this.addRows(FIRST);
      clearTimeout(this.later);
      requestAnimationFrame(() => {
        clearTimeout(this.later);
        this.later = setTimeout(() => this.addRows(this.shown));
      });
      const left = matches.length - this.shown;
      this.more.hidden = left <= 0;
      this.more.textContent = `Show ${count(Math.min(PAGE, left))} more of ${count(left)}`;
      this.legend.replaceChildren(...this.legends());
    }

    /** Rows up to that number, where they are not there yet. */
    addRows(to) {
      const from = this.rows.children.length;
      const added = this.matches.slice(from, Math.min(to, this.shown));
      this.rows.append(...added.map((query, at) => this.row(query, from + at)));
    }

    side(run) {
      return this.core.runs.length > 1 ? (run === this.a ? "A" : "") + (run === this.b ? "B" : "") : "";
    }

    row(query, at) {
      const { core } = this;
      const open = make("button", { type: "button", className: "ex-query ex-text", dir: "auto", tabIndex: at === this.current ? 0 : -1 }, core.queries.text[query]);
      return make("tr", { data: { at } },
        make("td", null, open, foreign("span", core.queries.id[query], "ex-id")),
        make("td", { className: "ex-type" }, core.types[core.queries.type[query]]),
        ...core.runs.map((run, place) => make("td", { className: this.side(place) ? "ex-run" : "ex-run ex-other", data: { label: run.label } },
          chip(this.verdictOf(place, query), run.label))));
    }

    legends() {
      if (!this.matches.length) return ["No query fits. Reset shows all."];
      const { measure } = this;
      const letters = [["good", "R", "right"], ["bad", "W", "wrong"], ["warn", "N", "gave no answer, which is wrong"]];
      const others = [["bad", "F", "failed"], ["bad", "T", "timed out"], ["warn", "?", "could not be scored"], ["none", "n/a", "does not apply"], ["none", "–", "nothing there"]];
      const shown = [...(measure && measure.binary ? letters : []), ...others];
      const words = measure ? `${measure.name}${measure.summary ? `: ${measure.summary}` : ""}${measure.up === false ? " (lower is better)" : ""}. ` : "";
      return [words, ...shown.flatMap(([tone, letter, words]) => [make("span", { className: `ex-chip ex-${tone}`, "aria-hidden": "true" }, letter), ` ${words}  `])];
    }

    /** Up, down, Home and End among the rows. */
    move(event) {
      const to = { ArrowDown: this.current + 1, ArrowUp: this.current - 1, Home: 0, End: Math.min(this.shown, this.matches.length) - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      if (to < 0) this.inputs.words.focus();
      else this.focusRow(to);
    }

    focusRow(at) {
      if (at >= this.shown && at < this.matches.length) {
        this.shown = PAGE * Math.ceil((at + 1) / PAGE);
        this.render();
      }
      this.addRows(at + 1);
      const row = this.rows.children[at];
      if (!row) return;
      const before = this.rows.children[this.current];
      if (before) before.querySelector("button").tabIndex = -1;
      this.current = at;
      row.querySelector("button").tabIndex = 0;
      row.querySelector("button").focus();
    }
  }

  /** Lowest and highest value. */
  function span(cells) {
    const values = cells.map((cell) => cell.value).filter((value) => value !== null);
    return values.length ? [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))] : [0, 0];
  }

  // --- start

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
})();
