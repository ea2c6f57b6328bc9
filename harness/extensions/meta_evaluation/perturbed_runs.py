"""Perturbed answers: wrong in a known way, as run directories that evaluators score like any run, to test whether
a metric notices. No system is called.

A swap changes one side of an answered query and keeps the others. Wrong answers, questions and contexts are those
of another query of the same type, by a seeded derangement, and never ones that are right as well. The runs are in
`results/sensitivity/<run>--<hash>/`, where no other command takes them for runs of a system.
"""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from harness.core.errors import ConfigError, nearest
from harness.core.hashing import digest
from harness.core.records import Prediction
from harness.core.scripts import renumbered
from harness.evaluators.answer_normalisation import abstains, canonical, normalise
from harness.evaluators.score_preconditions import is_null, reference_answer, stated_answers
from harness.extensions.meta_evaluation.answers_as_run import answers_as_run
from harness.extraction.nlp import NlpExtractor
from harness.extraction.types import FoundEntity, TextGraph
from harness.llm_utils.concurrency import run_to_end
from harness.protocols import Side
from harness.store import RunDir, SampleRow

GENERIC_ANSWER = (
    "There are several things to consider here, and the details can differ from one case to the next, so it is "
    "worth looking at each of them with care."
)
"""A text that fits any question, and is no abstention."""
_NEGATION = re.compile(
    r"\b(?:(is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|must)n['\u2019]t|not)\b",
    re.IGNORECASE,
)
_AUXILIARY = re.compile(
    r"\b(is|are|was|were|am|can|could|will|would|should|must|may|might|do|does|did|has been|have been|had been)\b"
)
_FEWEST_WORDS = 4

NOTHING_SWAPPED = "as_is"


def negated(text: str) -> str | None:
    """The opposite: yes and no exchanged, its first `not` removed, or a `not` after its first auxiliary verb."""
    verdict = {"yes": "No", "no": "Yes"}.get(normalise(text))
    if verdict:
        return verdict
    if found := _NEGATION.search(text):
        left = f"{text[: found.start()]}{found[1] or ''}{text[found.end() :]}"
        return re.sub(r"  +", " ", left)
    if found := _AUXILIARY.search(text):
        verb, *rest = found[1].split(" ", 1)
        return f"{text[: found.start()]}{' '.join([verb, 'not', *rest])}{text[found.end() :]}"
    return None


def halved(text: str) -> str | None:
    """Its first half, cut between words."""
    words = text.split()
    return " ".join(words[: len(words) // 2]) if len(words) >= _FEWEST_WORDS else None


def with_another_name(text: str, found: TextGraph, others: list[FoundEntity], rng: random.Random) -> str | None:
    """The text with its first name replaced everywhere by another name of the same kind."""
    words = normalise(text)
    for entity in found.entities:
        kin = sorted({one.name for one in others if one.kind == entity.kind and normalise(one.name) not in words})
        if entity.kind and kin and _place(text, entity.name) >= 0:
            return _whole(entity.name).sub(rng.choice(kin).replace("\\", r"\\"), text)
    return None


def turned_round(text: str, found: TextGraph) -> str | None:
    """Head and tail of its first statement exchanged: the same names, another triplet."""
    for head, _, tail in found.triplets:
        first, second = sorted(((_place(text, head), head), (_place(text, tail), tail)))
        between = text[first[0] + len(first[1]) : second[0]]
        if first[0] >= 0 and normalise(head) != normalise(tail) and between.strip():
            rest = text[second[0] + len(second[1]) :]
            return f"{text[: first[0]]}{second[1]}{between}{first[1]}{rest}"
    return None


def _place(text: str, name: str) -> int:
    """Position of the name as separate words; -1 if there is none."""
    found = _whole(name).search(text)
    return found.start() if found else -1


def _whole(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")


@dataclass(frozen=True)
class PerturbedCase:
    row: SampleRow
    prediction: Prediction
    graph: TextGraph = field(default_factory=TextGraph)
    """Entities and triplets of the answer, by rules."""

    @property
    def query_id(self) -> str:
        return self.row.query.query_id

    @property
    def answer(self) -> str:
        return self.prediction.answer or ""

    @property
    def texts(self) -> list[str]:
        return [context.text for context in self.prediction.contexts]

    def answering(self, text: str) -> "PerturbedCase":
        return replace(self, prediction=self.prediction.model_copy(update={"answer": text}))


Cases = Sequence[PerturbedCase]


@dataclass(frozen=True)
class Perturbation:
    name: str
    title: str
    side: Side
    make: Callable[[Cases, int], Cases]
    """make(cases, seed): the changed cases; cases that cannot be changed are left out."""
    is_parsed: bool = False
    """Whether it needs the entities and triplets of the answers."""


def _rng(seed: int, swap: str, key: str) -> random.Random:
    """One generator per perturbation and query, so that other queries do not influence the result."""
    return random.Random(f"{seed}/{swap}/{key}")  # noqa: S311 - no secret


def _answer_edit(
    name: str,
    title: str,
    edit: Callable[[PerturbedCase, Cases, random.Random], str | None],
    *,
    is_parsed: bool = False,
) -> Perturbation:
    """Edits each answer alone: edit(case, all cases, rng). What every comparison treats as equal is no edit."""

    def make(cases: Cases, seed: int) -> Cases:
        edited = ((case, edit(case, cases, _rng(seed, name, case.query_id))) for case in cases)
        return [
            case.answering(text)
            for case, text in edited
            if text and normalise(text) not in {normalise(case.answer), ""}
        ]

    return Perturbation(name, title, "answer", make, is_parsed)


def _name_swapped(case: PerturbedCase, cases: Cases, rng: random.Random) -> str | None:
    others = [one for other in cases if other is not case for one in other.graph.entities]
    return with_another_name(case.answer, case.graph, others, rng)


def _wrong_answers(cases: Cases, seed: int) -> Cases:
    pairs = deranged(cases, seed, "wrong", lambda case: normalise(case.answer))
    return [
        case.answering(donor.answer)
        for case, donor in pairs
        if normalise(donor.answer) not in {normalise(right) for right in stated_answers(case.row.reference)}
    ]


def _other_queries(cases: Cases, seed: int) -> Cases:
    found = []
    for case, donor in deranged(cases, seed, "query", lambda case: normalise(case.row.query.text)):
        query = case.row.query.model_copy(update={"text": donor.row.query.text})
        found.append(replace(case, row=case.row.model_copy(update={"query": query})))
    return found


def _other_contexts(cases: Cases, seed: int) -> Cases:
    with_contexts = [case for case in cases if case.prediction.contexts]
    return [
        replace(case, prediction=case.prediction.model_copy(update={"contexts": donor.prediction.contexts}))
        for case, donor in deranged(with_contexts, seed, "contexts", lambda case: "\n".join(case.texts))
        if set(case.texts).isdisjoint(donor.texts)
    ]


def deranged(
    cases: Cases, seed: int, swap: str, key: Callable[[PerturbedCase], str]
) -> list[tuple[PerturbedCase, PerturbedCase]]:
    """Each case with another of its query type, as a permutation in which none keeps its key; cases for which that
    is impossible (a key of more than half of a type) are left out.

    Equal keys are placed next to each other in random order; shifting by the size of the most frequent key gives
    each another one.
    """
    by_type: dict[str, list[PerturbedCase]] = {}
    for case in sorted(cases, key=lambda case: case.query_id):
        by_type.setdefault(case.row.reference.query_type, []).append(case)
    found = []
    for query_type, own in sorted(by_type.items()):
        groups: dict[str, list[PerturbedCase]] = {}
        for case in _rng(seed, swap, query_type).sample(own, len(own)):
            groups.setdefault(key(case), []).append(case)
        ordered = [case for group in groups.values() for case in group]
        step = max(map(len, groups.values()))
        donors = [*ordered[step:], *ordered[:step]]
        found += [pair for pair in zip(ordered, donors, strict=True) if key(pair[0]) != key(pair[1])]
    return sorted(found, key=lambda pair: pair[0].query_id)


SWAPS = (
    Perturbation("wrong_answer", "another query's answer", "answer", _wrong_answers),
    _answer_edit("name", "another name", _name_swapped, is_parsed=True),
    _answer_edit("negation", "negated", lambda case, *_: negated(case.answer)),
    _answer_edit("number", "another number", lambda case, _, rng: renumbered(case.answer, rng)),
    _answer_edit("truncation", "the first half", lambda case, *_: halved(case.answer)),
    _answer_edit("generic", "a generic answer", lambda *_: GENERIC_ANSWER),
    _answer_edit(
        "triplet",
        "head and tail exchanged",
        lambda case, *_: turned_round(case.answer, case.graph),
        is_parsed=True,
    ),
    Perturbation("query", "another query", "question", _other_queries),
    Perturbation("contexts", "another query's contexts", "contexts", _other_contexts),
)


BaseAnswer = Literal["reference", "own"]
"""The text to edit: the reference answer, or the system's own answer."""
FEWEST_CASES = 10


@dataclass(frozen=True)
class PerturbationChoice:
    base: BaseAnswer = "reference"
    swaps: tuple[str, ...] = ()
    n: int | None = None
    """This many queries, drawn with `seed`; None: all."""
    seed: int = 0
    fewest: int = FEWEST_CASES

    @property
    def chosen(self) -> tuple[Perturbation, ...]:
        known = [swap.name for swap in SWAPS]
        for name in set(self.swaps).difference(known):
            raise ConfigError(f"there is no swap '{name}'", nearest(name, known))
        return tuple(swap for swap in SWAPS if not self.swaps or swap.name in self.swaps)


@dataclass(frozen=True)
class PerturbedRuns:
    base: RunDir
    swapped: tuple[tuple[Perturbation, RunDir], ...]
    n_cases: int
    notes: tuple[str, ...]

    @property
    def runs(self) -> tuple[RunDir, ...]:
        return (self.base, *(run for _, run in self.swapped))


def swap_answers(run: RunDir, choice: PerturbationChoice, folder: Path) -> PerturbedRuns:
    """Write the runs below `folder`, or reuse them: the same answers and choice give the same runs.

    ConfigError: the run has fewer than 10 answers that can be edited.
    """
    swaps = choice.chosen
    cases, notes = _cases(run, choice)
    if any(swap.is_parsed for swap in swaps):
        extractor = NlpExtractor(pipeline=None, progress=lambda _done, _total: None)
        graphs = run_to_end(lambda: extractor.extract([case.answer for case in cases]))
        cases = [replace(case, graph=graph) for case, graph in zip(cases, graphs, strict=True)]
    base = _write(run, NOTHING_SWAPPED, cases, choice, folder)
    swapped = []
    for swap in swaps:
        if changed := swap.make(cases, choice.seed):
            swapped.append((swap, _write(run, swap.name, changed, choice, folder)))
        else:
            notes.append(f"{swap.title}: no answer can be changed in this way")
    return PerturbedRuns(base, tuple(swapped), len(cases), tuple(notes))


def _cases(run: RunDir, choice: PerturbationChoice) -> tuple[list[PerturbedCase], list[str]]:
    """The answerable queries with an answer to edit, and a note on those without one."""
    records, found, left_out = run.records(), [], 0
    for row in run.sample():
        record = records.get((row.query.query_id, 0))
        prediction = record.prediction if record else None
        own = prediction and prediction.answer
        text = reference_answer(row.reference) if choice.base == "reference" else own
        if prediction is None or is_null(row.reference) or not text or not canonical(text) or abstains(text):
            left_out += 1
            continue
        found.append(PerturbedCase(row, prediction.model_copy(update={"answer": text})))
    why = "failed, null, abstained, or without one"
    notes = [f"{left_out:,} queries have no answer to edit ({why})"] if left_out else []
    if len(found) < choice.fewest:
        what = f"{run.run_id} has {len(found)} {choice.base} answers to edit"
        other = {"reference": "the answers of its system: --base own", "own": "the references: --base reference"}
        fix = f"name a larger run, or edit {other[choice.base]}"
        raise ConfigError(f"{what}; fewer than {choice.fewest} show nothing", fix)
    if choice.n is not None and choice.n < len(found):
        drawn = random.Random(choice.seed).sample(range(len(found)), choice.n)  # noqa: S311 - no secret
        notes.append(f"{choice.n:,} of {len(found):,} queries, drawn with seed {choice.seed}")
        found = [found[place] for place in sorted(drawn)]
    return found, notes


def _write(
    run: RunDir, swap: str, cases: Sequence[PerturbedCase], choice: PerturbationChoice, folder: Path
) -> RunDir:
    origin = run.manifest()
    answers = [(case.row, case.prediction.model_copy(update={"trace": (), "retrieved": None})) for case in cases]
    said = [
        {
            "row": row.model_dump(mode="json"),
            "answer": prediction.answer,
            "contexts": [context.model_dump(mode="json") for context in prediction.contexts],
        }
        for row, prediction in answers
    ]
    return answers_as_run(
        folder,
        f"{choice.base}-{swap}",
        answers,
        identity={
            **{key: origin.identity[key] for key in ("schema", "dataset") if key in origin.identity},
            "system": {"name": f"{choice.base}-{swap}", "version": "swapped", "index": {}, "answer": {}},
            "models": {"generator": {"provider": "imported", "model": choice.base}},
            "seed": choice.seed,
            "imported": {"of": run.run_id, "cases": digest(said)},
        },
        config={"dataset": origin.config.get("dataset", {}), "evaluators": origin.config.get("evaluators", [])},
        dataset={**origin.dataset, "n_queries": len(cases)},
        note=f"Answers of {run.run_id} with one thing changed: {swap}.",
    )
