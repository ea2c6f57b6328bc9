"""Akindele et al. 2025, RAG-Eval: the confidence of answers over a graph of mails, beside two other scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from email.utils import getaddresses
from functools import partial
from typing import TYPE_CHECKING

from harness.core.hashing import flatten
from harness.core.records import Document, Prediction
from harness.display import Entry, Quantity, Table, printable
from harness.evaluators.rag_eval.evaluator import band_of
from harness.evaluators.rag_eval.prompts import METRICS
from harness.extensions.meta_evaluation.correlation_columns import computed_values
from harness.extensions.meta_evaluation.perturbed_runs import PerturbationChoice
from harness.extensions.reproduce import drawing
from harness.extensions.reproduce.paper import Item, NotMade, Paper, PaperRuns, changed_answers, item_table
from harness.store.index_dir import Corpora

if TYPE_CHECKING:
    from harness.report.view import RunView

_CONVERSATIONS = ("One", "Two", "Three", "Four", "Five")
_RAG_EVAL = {f"RAG-Eval {name.replace('_', ' ')}": f"rag_eval_{name}" for name in (*METRICS, "confidence")}
_BERTSCORE = {
    f"BERTScore {title}": f"bertscore_summary_{part}"
    for title, part in (("precision", "precision"), ("recall", "recall"), ("F1", "f1"))
}
_G_EVAL = {f"G-Eval {name}": f"g_eval_{name}" for name in ("coherence", "consistency", "fluency", "relevance")}
_CONFIDENCE = "rag_eval_confidence"
_MOST_MAILS = 5
"""Mails of a graph that can be read on a page."""


def _view(runs: PaperRuns) -> RunView:
    return runs.view("cypher-agent")


def _weights(runs: PaperRuns) -> Table:
    own = next((one.params for one in _view(runs).evaluations if one.evaluator == "rag_eval"), {})
    weights = own.get("weights")
    if not isinstance(weights, Sequence):
        raise NotMade("the run was not scored by rag_eval")
    named = zip(METRICS, weights, strict=True)
    rows = [(name.replace("_", " "), Quantity(float(str(weight)))) for name, weight in named]
    return item_table(("metric", "weight"), rows)


def _summaries(runs: PaperRuns) -> Table:
    """The three scores of the first five answers with all of them."""
    columns = {**_BERTSCORE, **_G_EVAL, **_RAG_EVAL}
    return _conversations(runs, computed_values(_view(runs).run), columns, _CONVERSATIONS)


def _changed(runs: PaperRuns, swap: str, names: Sequence[str]) -> Table:
    """RAG-Eval's grades of answers after the change."""
    # Its tables show a few answers, one by one.
    changes = PerturbationChoice(base="own", swaps=("query", "generic"), fewest=1)
    sensed = changed_answers(runs, _view(runs).run, ("rag_eval",), changes)
    changed = next((run for own, run in sensed.runs.swapped if own.name == swap), None)
    if changed is None:
        raise NotMade("no answer could be changed in this way")
    return _conversations(runs, computed_values(changed), _RAG_EVAL, names)


def _conversations(
    runs: PaperRuns, values: Mapping[str, Mapping[str, float]], columns: Mapping[str, str], names: Sequence[str]
) -> Table:
    """The first answers with all scores; those with sources before the others, of which every score is 0."""
    scored = [set(values.get(measure, {})) for measure in columns.values()]
    without = {
        query
        for query, record in _view(runs).run.first_records().items()
        if not (record.prediction and record.prediction.contexts)
    }
    complete = sorted(set.intersection(*scored), key=lambda query: (query in without, query))
    chosen = complete[: len(names)]
    if not chosen:
        missing = ", ".join(title for title, measure in columns.items() if not values.get(measure))
        raise NotMade(f"no answer has all scores{f'; there is none of {missing}' if missing else ''}")
    rows: list[tuple[Entry, ...]] = [
        (title, *(Quantity(values[measure][query]) for query in chosen)) for title, measure in columns.items()
    ]
    note = f"Answers to {', '.join(map(printable, chosen))}."
    if unsupported := len(without & set(chosen)):
        note += f" {unsupported} of them have no source, so every score is 0."
    return item_table(("score", *names[: len(chosen)]), rows, note)


def _mails(runs: PaperRuns) -> list[Document]:
    digest = str(_view(runs).manifest.dataset.get("corpus_digest"))
    found = Corpora(runs.evaluation.results).documents(digest)
    if not found:
        raise NotMade("the documents of the run were not saved")
    return found


def _lengths(runs: PaperRuns) -> Table:
    rows = [(printable(one.doc_id), Quantity(len(one.text.split()), unit="count")) for one in _mails(runs)]
    return item_table(("mail", "words"), rows)


def _graph(runs: PaperRuns) -> Table:
    """The mails of the person who sent most, with their other ends, as `emails.yaml` makes them."""
    mails = _mails(runs)
    sent: dict[str, list[Document]] = {}
    for one in mails:
        for name in _people(one, "from"):
            sent.setdefault(name, []).append(one)
    if not sent:
        raise NotMade("no document names a sender")
    centre = max(sent, key=lambda name: len(sent[name]))
    rows: list[tuple[Entry, ...]] = []
    for one in sent[centre][:_MOST_MAILS]:
        mail, thread = one.doc_id, one.title.removeprefix("Re: ")
        rows.append((mail, centre, "SENT", mail, Quantity(len(sent[centre]), unit="count")))
        rows.append((mail, mail, "PART_OF", thread, Quantity(None)))
        for name in _people(one, "to", "cc"):
            rows.append((mail, name, "RECEIVED", mail, Quantity(len(sent.get(name, ())), unit="count")))
    return item_table(("mail", "source", "relation", "target", "mails sent by the source"), rows)


def _people(mail: Document, *fields: str) -> list[str]:
    found = getaddresses([mail.metadata.get(field, "") for field in fields])
    return [name or address for name, address in found if address]


def _statements(runs: PaperRuns) -> Table:
    """What the agent did for the first five questions: its tools, its statements, and its answers."""
    rows = []
    for question, prediction, _ in _answers(runs):
        done = [step.content for step in prediction.trace if step.name in {"agent", "cypher"}]
        rows.append((question, printable(" | ".join(done), 600), printable(prediction.answer or "", 400)))
    return item_table(("question", "agent and statements", "answer"), rows)


def _shown_answers(runs: PaperRuns) -> Table:
    rows: list[tuple[Entry, ...]] = []
    for question, prediction, confidence in _answers(runs):
        sources = next((step.content for step in prediction.trace if step.name == "sources"), "")
        band = "not scored" if confidence is None else band_of(confidence)
        answer = printable(prediction.answer or "", 400)
        rows.append((question, answer, printable(sources, 200), Quantity(confidence, unit="share"), band))
    return item_table(("question", "answer", "sources", "confidence", "band"), rows)


def _answers(runs: PaperRuns) -> list[tuple[str, Prediction, float | None]]:
    view = _view(runs)
    values = computed_values(view.run).get(_CONFIDENCE, {})
    questions = {row.query.query_id: row.query.text for row in view.run.sample()}
    records = [one for _, one in sorted(view.run.first_records().items()) if one.prediction]
    # Answers with a confidence first.
    records.sort(key=lambda one: one.query_id not in values)
    return [
        (printable(questions[one.query_id], 200), one.prediction, values.get(one.query_id))
        for one in records[: len(_CONVERSATIONS)]
        if one.prediction
    ]


def _parameters(runs: PaperRuns) -> Table:
    own = flatten(_view(runs).manifest.system)
    keys = ("index.schema", "answer.agent", "answer.rounds", "answer.repairs", "answer.top_k", "answer.rows")
    return item_table(("parameter", "value"), tuple((key, printable(str(own.get(key)))) for key in keys))


_SCRIPT = {
    "Observation:": "Thought: Do I need a tool? No\nFinal Answer: The mails say that the deck lift is on 23 "
    "April.",
    "Write one Cypher statement": (
        "MATCH (s:Person)-[:SENT]->(e:Email) WHERE toLower(e.content) CONTAINS 'deck lift' "
        "RETURN s.name, e.email_id, e.time_received, e.content"
    ),
    "Use graph first": "Thought: Do I need a tool? Yes\nAction: graph\nAction Input: When is the deck lift?",
}
"""A scripted agent asks the graph, and then answers."""
_GRADES = {
    "- Query relevance:": "3",
    **{f"- {name}:": "4" for name in ("Factual accuracy", "Coherence", "Consistency", "Relevance")},
    **{f"- {name}:": "5" for name in ("Coverage", "Fluency")},
}
PAPER = Paper(
    name="rag_eval",
    citation="Akindele, Mishra and Wertheim 2025, RAG-Eval",
    configs=("rag_eval.yaml",),
    settings={
        "local": {
            # As its own agent the 1.5B model finds a source for 1 of 16 questions
            "per_system.cypher-agent.answer.agent": "fixed",
            "per_evaluator.bertscore.model": "minilm",
        },
        "scripted": {
            "models.generator.options": {"replies": _SCRIPT},
            "models.judge.options": {"replies": _GRADES},
            "per_evaluator.g_eval": {"scores": "stated"},
            "per_evaluator.bertscore.model": "minilm",
        },
    },
    items=(
        Item("section-4.2", "parameters of the agent", _parameters),
        Item("figure-2", "words of a mail", _lengths, partial(drawing.histograms, of="mails")),
        Item("figure-3", "an excerpt of the graph of mails", _graph, drawing.network, True),
        Item("table-2", "weights of the confidence", _weights),
        Item("table-3", "three scores of answers as summaries", _summaries),
        Item(
            "table-4",
            "RAG-Eval of the same answers to other questions",
            partial(_changed, swap="query", names=_CONVERSATIONS),
        ),
        Item(
            "table-5", "RAG-Eval of generic answers", partial(_changed, swap="generic", names=_CONVERSATIONS[:3])
        ),
        Item("figure-4", "tools, statements and answers of the agent", _statements),
        Item("figure-5", "answers with sources and confidence", _shown_answers),
    ),
)
