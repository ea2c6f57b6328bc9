// The list of queries and its filters.

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
      measure: select(measures.length ? measures.map(([at, one]) => [at, one.title]) : [[-1, "no scores"]]),
      type: select([["", "all types"], ...core.types.map((name, at) => [at, name])]),
      status: select(Object.entries(STATES)),
      kind: make("select", null, option("", "any"), ...core.kinds.map((one, at) => make("optgroup", { label: one.title },
        option(`${at}`, `${one.title}: all`), ...one.labels.map(([title], bit) => option(`${at} ${bit}`, title))))),
      of: select([["", "any system"], ...runs]),
      mix: select([["sampled", "as sampled"], ["natural", "natural mix"]]),
      order: select([["asked", "as asked"], ["ahead", "A ahead of B first"], ["behind", "B ahead of A first"]]),
    };
    this.inputs.b.value = String(this.b);
    const several = core.runs.length > 1;
    const names = { words: "Search", relation: "Show", a: "System A", b: "System B", measure: "Measure", type: "Type", status: "Status", kind: "Why", of: "Why of", mix: "Mix of means", order: "Order" };
    const absent = { kind: !core.kinds.length, of: !core.kinds.length || !several, mix: !this.hasMix() };
    const fields = Object.entries(this.inputs).map(([name, input]) => {
      input.addEventListener(name === "words" ? "input" : "change", () => this.refresh());
      const field = make("label", { className: `ex-field ex-field-${name}` }, make("span", null, names[name]), input);
      field.hidden = absent[name] || !several && ["relation", "a", "b", "order"].includes(name);
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
    this.means = make("p", { className: "ex-means" });
    const keys = [["/", "search"], ["↑ ↓", "move"], ["Enter", "open"], ["← →", "next query"], ["Esc", "close"]];
    const hint = make("p", { className: "ex-hint" }, ...keys.flatMap(([key, does]) => [make("kbd", null, key), ` ${does}  `]));
    return [
      make("form", { className: "ex-controls", role: "search", onsubmit: (event) => event.preventDefault() }, ...fields),
      make("div", { className: "ex-status" }, this.counter, reset, hint),
      this.means,
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

  /** Whether there are several types, and how many queries of each the whole data set has. */
  hasMix() {
    const { mix } = this.core;
    return mix.length > 1 && mix.every((n) => n > 0);
  }

  /** The filters as they were at first. */
  clear() {
    for (const [name, input] of Object.entries(this.inputs)) {
      if (name === "words") input.value = "";
      else input.selectedIndex = name === "b" ? Math.min(1, input.length - 1) : 0;
    }
    return this.refresh();
  }

  reset() {
    this.clear();
    this.inputs.words.focus();
  }

  /** The queries that any system got wrong or failed; that run is shown as A. */
  async failed(run) {
    await this.clear();
    const { core, inputs } = this;
    if (core.runs[run]) {
      inputs.a.value = String(run);
      if (inputs.b.value === inputs.a.value) inputs.b.value = "0";
    }
    if (core.kinds.length) inputs.kind.value = "0";
    else if (this.measure && this.measure.binary) inputs.relation.value = "anyWrong";
    await this.refresh();
  }

  /** Opens the query of that number, whatever the filters show, with these systems side by side. */
  async reveal(query, a, b) {
    if (!this.matches.includes(query)) await this.clear();
    for (const [name, run] of [["a", a], ["b", b]]) {
      if (this.core.runs[run]) this.inputs[name].value = String(run);
    }
    await this.refresh();
    for (let one = this.root.closest("details"); one; one = one.parentElement.closest("details")) one.open = true;
    this.root.scrollIntoView();
    await this.view.open(this.matches.indexOf(query));
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
    const [kind, bit] = inputs.kind.value.split(" ");
    const wanted = bit === undefined ? -1 : 1 << Number(bit);
    const of = inputs.of.value === "" ? this.systems : [core.runs[Number(inputs.of.value)]];
    const haystacks = words.length ? this.haystacks() : [];
    const fits = (query) =>
      (type === null || core.queries.type[query] === type) &&
      (!status || this.hasStatus(query, status)) &&
      (kind === "" || of.some((run) => run.kinds[Number(kind)][query] & wanted)) &&
      (relation === "all" || this.relates(query, relation)) &&
      words.every((word) => haystacks[query].includes(word));
    const matches = [];
    for (let query = 0; query < core.queries.id.length; query += 1) {
      if (fits(query)) matches.push(query);
    }
    return this.ordered(matches, inputs.order.value);
  }

  /** What A and B have on average over the queries that fit, each type weighed as the chosen mix has it. */
  meansOf(matches) {
    const { core, measure } = this;
    if (!measure || !this.table || !matches.length) return "";
    const natural = this.inputs.mix.value === "natural" && this.hasMix();
    const asked = core.types.map((_, type) => core.queries.type.filter((one) => one === type).length);
    const weight = (query) => (natural ? core.mix[core.queries.type[query]] / asked[core.queries.type[query]] : 1);
    const shown = [...new Set([this.a, this.b])].map((run) => {
      const known = matches.filter((query) => this.cell(run, query).value !== null);
      const total = known.reduce((sum, query) => sum + weight(query), 0);
      if (!total) return `${core.runs[run].label} –`;
      const mean = known.reduce((sum, query) => sum + weight(query) * this.cell(run, query).value, 0) / total;
      return `${core.runs[run].label} ${mean.toFixed(3)} (n = ${count(known.length)})`;
    });
    return `${measure.title} over these, ${natural ? "natural mix" : "as sampled"}: ${shown.join("; ")}`;
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

  /** The runs that are no baselines, or all if there are only baselines. */
  get systems() {
    const found = this.core.runs.filter((run) => !run.baseline);
    return found.length ? found : this.core.runs;
  }

  relates(query, relation) {
    if (relation === "anyWrong") {
      return this.systems.some((run) => {
        const cell = this.cell(this.core.runs.indexOf(run), query);
        return cell.value !== null && rightness(cell, this.measure) < 1;
      });
    }
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
    this.means.textContent = this.meansOf(matches);
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
    const words = measure ? `${measure.title}${measure.summary ? `: ${measure.summary}` : ""}${measure.up === false ? " (lower is better)" : ""}. ` : "";
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
