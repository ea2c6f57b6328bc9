"""summary.md: what was run, what came out, how sure we are, and what to know before believing it."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.report import evaluation_tables, tables
from harness.report.reproduce import run_command
from harness.report.text import counted, markdown, printable, type_name
from harness.report.view import Group

Lines = list[str]
Figures = Mapping[str, Sequence[Path]]
"""Data set digest -> the figures of its group, relative to the report."""

_HOW_TO_READ = """\
## How to read this

- **[low, high]** is a 95 % confidence interval: Wilson's for shares, a seeded bootstrap over queries for other
  means. Overlapping intervals are no test of a difference: that takes a comparison paired by query.
- **n** counts answers (queries x repeats) in the mean. One that failed is in it, with the worst value of the
  measure. "170 of 200" says that 30 are not: no answer yet, or a score that could not be computed; the reasons
  stand above.
- **overall** weighs every sampled query the same; **natural mix** weighs query types as in the whole data set.
- **hallucination rate**: null queries (the corpus holds no answer) that were answered.
  **False abstention rate**: answerable queries that were refused.
- **latency** is wall time without waiting for rate limits; tokens and dollars include every model role.
- **CPU, RAM** are mean / maximum of samples; process CPU in percent of one core, the machine's in percent of all
  cores. Peak RAM is the operating system's own count for the system's process.
- **index**: tokens, calls and dollars are what building it needs, whoever paid. "Calls another run paid" and
  "from another run" are the part that was there already: systems that ask the same of the same model, or embed
  the same text, share it. Seconds with ≥ are what the build took with that help.
- **Judges**: what evaluators asked of models, every judgement counted as if it had been asked for; "paid before"
  are those whose text had been judged already. None of it is in a system's tokens, dollars or seconds.
- **Measures and what stands in for them**: correlation, over queries, of a measure with one that needs no judge,
  or no verdict of one. – where a column never varies or fewer than five queries have both.
- **accuracy_multihop_printed** is what one release of MultiHop-RAG's script printed as accuracy, for reading
  tables made with it: 1 / (3 - 2 x accuracy_multihop_compat). It is no share of anything.
- – means not measured or not applicable; it is never zero.

Every number, with counts and intervals, stands in `summary.csv`.
"""  # noqa: RUF001 - the en dash is the sign for "not measured"


def summary_markdown(groups: Sequence[Group], figures: Figures) -> str:
    """The whole text. Names and messages in it are escaped."""
    n_runs = sum(len(group.views) for group in groups)
    lines = ["# RAG benchmark report", ""]
    if not groups:
        lines += ["There are no runs to report on. Run: `rag-harness run`", ""]
    else:
        lines += [f"{counted(n_runs, 'run')} over {counted(len(groups), 'data set selection')}.", ""]
    if len(groups) > 1:
        lines += [
            "**Not comparable across sections:** the runs were made over different queries or documents "
            "(their data set digests differ), so each selection has its own tables and figures.",
            "",
        ]
    for group in groups:
        lines += _group(group, figures.get(group.digest, ()))
    return "\n".join([*lines, _HOW_TO_READ])


def _group(group: Group, figures: Sequence[Path]) -> Lines:
    sections = (
        ("What was run", [*tables.runs_table(group), "", *tables.differences_table(group)]),
        ("To know before comparing", _notes(group)),
        ("Accuracy", tables.accuracy_table(group)),
        ("Unanswerable queries and refusals", tables.abstention_table(group)),
        ("Other measures", evaluation_tables.measure_tables(group)),
        ("Measures and what stands in for them", evaluation_tables.twin_table(group)),
        ("Cost and time of a query", tables.query_cost_table(group)),
        ("Index", tables.index_table(group)),
        ("Index ledger", tables.ledger_table(group)),
        ("CPU and RAM", tables.resources_table(group)),
        ("Judges", evaluation_tables.judge_table(group)),
        ("Figures", _images(figures)),
        ("Run it again", _commands(group)),
    )
    lines = [f"## {markdown(group.title)}", "", _description(group), ""]
    for title, body in sections:
        if any(body):
            lines += [f"### {title}", "", *body]
            lines += [""] if body[-1] else []
    return lines


def _description(group: Group) -> str:
    view = group.views[0]
    types = Counter(view.frame.query_types.values())
    shown = ", ".join(f"{markdown(type_name(name))} {count:,}" for name, count in sorted(types.items()))
    documents = view.manifest.dataset.get("n_documents")
    searched = f" over {counted(documents, 'document')}" if isinstance(documents, int) else ""
    corpus = view.manifest.dataset.get("corpus")
    kept = f" (corpus: {markdown(str(corpus))})" if corpus else ""
    queries = counted(len(view.frame.query_types), "query", "queries")
    return f"{queries}{searched}{kept}: {shown}. Digest {markdown(group.digest[:12])}."


def _notes(group: Group) -> Lines:
    lines = [f"- {markdown(note, 600)}" for note in (*group.notes, *group.shared_notes)]
    for view in group.views:
        lines += [f"- **{markdown(view.label)}**: {markdown(note, 600)}" for note in group.own_notes(view)]
    return lines or ["Nothing: every run finished, every query was answered and every score was computed."]


def _images(figures: Sequence[Path]) -> Lines:
    shown = [f"![{path.stem}]({path.as_posix()})" for path in figures if path.suffix == ".png"]
    return "\n\n".join(shown).split("\n")


def _commands(group: Group) -> Lines:
    names = shlex.join(printable(view.run.run_id, 200) for view in group.views)
    commands = [run_command(view.manifest) for view in group.views]
    # A fence of tildes: what stands inside starts with a command name, so no line can close it.
    return ["~~~sh", *commands, f"rag-harness evaluate {names}", f"rag-harness report {names}", "~~~"]
