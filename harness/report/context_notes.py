"""How much of the contexts a judge read, whether answers are understood, whether a baseline sees the evidence."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from statistics import mean

from harness.core.errors import HarnessError
from harness.core.languages import UNDERSTOOD, foreign_language
from harness.core.records import EvaluationRecord
from harness.display.text_format import counted, printable
from harness.evaluators.score_preconditions import is_null
from harness.registry import SYSTEMS
from harness.statistics.columnar_scores import ScoreColumns, ScoresOrColumns, in_columns
from harness.store import Manifest, RunDir, SampleRow

_WHOLE = 0.9995
"""Shown as 100 %."""
_FEWEST_SHOWN = 0.9
"""Share of the answerable queries with evidence, below which answers from evidence are no ceiling: for the others
the model is shown nothing.
"""
_MOST_QUESTIONS = 200
"""Enough to tell their language."""


def share_notes(evaluations: Iterable[EvaluationRecord], scores: ScoresOrColumns) -> Iterator[str]:
    """Notes on evaluators of a run whose judge did not see all of the contexts."""
    owner = {name: one.evaluator for one in evaluations for name in one.measures}
    shares: dict[str, list[float]] = {}
    for measure, column in in_columns(scores).by_measure.items():
        if column.facts.shares_read:
            shares.setdefault(owner.get(measure, measure), []).extend(column.facts.shares_read)
    for evaluator, read in sorted(shares.items()):
        part = [share for share in read if share < _WHOLE]
        if part:
            yield (
                f"{printable(evaluator)}: its judge was shown a part of the contexts in {len(part):,} of "
                f"{counted(len(read), 'score')} ({100 * mean(read):.0f} % on average over all): they say nothing "
                "of the rest."
            )


def language_notes(run: RunDir, scores: ScoreColumns) -> Iterator[str]:
    """Questions in a language in which answers are not understood."""
    generator = run.manifest().identity.get("models", {}).get("generator") or {}
    if generator.get("provider") == "none" or not scores.by_measure:
        return
    rows = itertools.islice(run.iter_sample(), _MOST_QUESTIONS)
    if language := foreign_language(" ".join([row.query.text, *row.reference.answers]) for row in rows):
        yield (
            f"Most questions and answers seem to be in {language}. Abstentions, yes and no, and dates are read in "
            f"{UNDERSTOOD} only: right answers and abstentions may be miscounted."
        )


def sees_gold(manifest: Manifest) -> bool | None:
    """Whether its system is given the reference evidence; None if that system is not installed."""
    try:
        return SYSTEMS.load(str(manifest.identity.get("system", {}).get("name"))).sees_gold
    except HarnessError:
        return None


def lacks_evidence(rows: Iterable[SampleRow]) -> str:
    """Why a baseline that is given the reference evidence is no ceiling for these queries; empty: it is one."""
    answerable = [row.reference for row in rows if not is_null(row.reference)]
    shown = sum(any(item.fact.strip() for item in one.evidence) for one in answerable)
    if shown >= _FEWEST_SHOWN * len(answerable):
        return ""
    return (
        f"Of {counted(len(answerable), 'answerable query', 'answerable queries')} {shown:,} have evidence in "
        "words: it was shown nothing for the others, so it is no ceiling here."
    )
