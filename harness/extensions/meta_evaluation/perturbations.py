"""Perturbed answers: wrong in a known way, to test whether a metric notices.

A swap changes one side of an answered query and keeps the others. Wrong answers, questions and contexts are those
of another query of the same type, by a seeded derangement, and never ones that are right as well.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from harness.core.records import Prediction
from harness.evaluators.answer_normalisation import normalise
from harness.evaluators.score_preconditions import stated_answers
from harness.extensions.meta_evaluation.perturbation_edits import (
    GENERIC_ANSWER,
    halved,
    negated,
    renumbered,
    turned_round,
    with_another_name,
)
from harness.extraction.types import TextGraph
from harness.protocols import Side, Sides
from harness.store import SampleRow

NOTHING_SWAPPED = "as_is"


@dataclass(frozen=True)
class PerturbedCase:
    """An answered query before or after a swap."""

    row: SampleRow
    prediction: Prediction

    @property
    def query_id(self) -> str:
        """The id of the query, which swaps do not change."""
        return self.row.query.query_id

    @property
    def answer(self) -> str:
        """The text that is edited."""
        return self.prediction.answer or ""

    def answering(self, text: str) -> "PerturbedCase":
        """The same case with another answer."""
        return replace(self, prediction=self.prediction.model_copy(update={"answer": text}))


@dataclass(frozen=True)
class PerturbationMaterial:
    """The inputs of perturbations."""

    cases: Sequence[PerturbedCase]
    graphs: Mapping[str, TextGraph] = field(default_factory=dict)
    """Query id -> entities and triplets of the answer, by rules."""
    seed: int = 0

    def rng(self, swap: str, query_id: str = "") -> random.Random:
        """One generator per perturbation and query, so that other queries do not influence the result."""
        return random.Random(f"{self.seed}/{swap}/{query_id}")  # noqa: S311 - no secret


@dataclass(frozen=True)
class Perturbation:
    """One way to make a case wrong."""

    name: str
    title: str
    """Its name in tables."""
    side: Side
    """The side that it changes."""
    make: Callable[[PerturbationMaterial], Sequence[PerturbedCase]]
    """The changed cases; cases that cannot be changed are left out."""
    is_parsed: bool = False
    """Whether it needs the graphs of the answers."""

    @property
    def changes(self) -> Sides:
        """The inputs that differ afterwards."""
        return frozenset({self.side})


def _edited(
    edit: Callable[[PerturbedCase, PerturbationMaterial], str | None],
) -> Callable[[PerturbationMaterial], list[PerturbedCase]]:
    """Edits each answer by itself. A result that every comparison treats as equal is no edit."""

    def make(material: PerturbationMaterial) -> list[PerturbedCase]:
        found = []
        for case in material.cases:
            text = edit(case, material)
            if text is not None and normalise(text) not in {normalise(case.answer), ""}:
                found.append(case.answering(text))
        return found

    return make


def _name_swapped(case: PerturbedCase, material: PerturbationMaterial) -> str | None:
    others = [one for query, graph in material.graphs.items() if query != case.query_id for one in graph.entities]
    graph = material.graphs.get(case.query_id, TextGraph())
    return with_another_name(case.answer, graph, others, material.rng("name", case.query_id))


def _wrong_answers(material: PerturbationMaterial) -> list[PerturbedCase]:
    pairs = deranged(material, "wrong", lambda case: normalise(case.answer))
    return [
        case.answering(donor.answer)
        for case, donor in pairs
        if normalise(donor.answer) not in {normalise(right) for right in stated_answers(case.row.reference)}
    ]


def _other_queries(material: PerturbationMaterial) -> list[PerturbedCase]:
    pairs = deranged(material, "query", lambda case: normalise(case.row.query.text))
    return [
        replace(
            case,
            row=case.row.model_copy(
                update={"query": case.row.query.model_copy(update={"text": donor.row.query.text})}
            ),
        )
        for case, donor in pairs
    ]


def _other_contexts(material: PerturbationMaterial) -> list[PerturbedCase]:
    with_contexts = replace(material, cases=[case for case in material.cases if case.prediction.contexts])
    found = []
    for case, donor in deranged(with_contexts, "contexts", _context_key):
        theirs = {context.text for context in donor.prediction.contexts}
        if theirs.isdisjoint(context.text for context in case.prediction.contexts):
            prediction = case.prediction.model_copy(update={"contexts": donor.prediction.contexts})
            found.append(replace(case, prediction=prediction))
    return found


def _context_key(case: PerturbedCase) -> str:
    return "\n".join(context.text for context in case.prediction.contexts)


def deranged(
    material: PerturbationMaterial, swap: str, key: Callable[[PerturbedCase], str]
) -> list[tuple[PerturbedCase, PerturbedCase]]:
    """Each case with another of its query type, as a permutation in which none keeps its key; cases for which that
    is impossible (a key of more than half of a type) are left out.

    Equal keys are placed next to each other in random order; shifting by the size of the most frequent key gives
    each another one.
    """
    by_type: dict[str, list[PerturbedCase]] = {}
    for case in sorted(material.cases, key=lambda case: case.query_id):
        by_type.setdefault(case.row.reference.query_type, []).append(case)
    found = []
    for query_type, cases in sorted(by_type.items()):
        rng = material.rng(swap, query_type)
        groups: dict[str, list[PerturbedCase]] = {}
        for case in rng.sample(cases, len(cases)):
            groups.setdefault(key(case), []).append(case)
        ordered = [case for group in groups.values() for case in group]
        step = max(map(len, groups.values()))
        donors = [*ordered[step:], *ordered[:step]]
        found += [pair for pair in zip(ordered, donors, strict=True) if key(pair[0]) != key(pair[1])]
    return sorted(found, key=lambda pair: pair[0].query_id)


SWAPS = (
    Perturbation("wrong_answer", "another query's answer", "answer", _wrong_answers),
    Perturbation("name", "another name", "answer", _edited(_name_swapped), is_parsed=True),
    Perturbation("negation", "negated", "answer", _edited(lambda case, _: negated(case.answer))),
    Perturbation(
        "number",
        "another number",
        "answer",
        _edited(lambda case, material: renumbered(case.answer, material.rng("number", case.query_id))),
    ),
    Perturbation("truncation", "the first half", "answer", _edited(lambda case, _: halved(case.answer))),
    Perturbation("generic", "a generic answer", "answer", _edited(lambda _case, _material: GENERIC_ANSWER)),
    Perturbation(
        "triplet",
        "head and tail exchanged",
        "answer",
        _edited(lambda case, material: turned_round(case.answer, material.graphs.get(case.query_id, TextGraph()))),
        is_parsed=True,
    ),
    Perturbation("query", "another query", "question", _other_queries),
    Perturbation("contexts", "another query's contexts", "contexts", _other_contexts),
)
"""In the order of tables."""
