"""What weakens an answer: runs that did not finish, that failed, or that stand apart."""

from __future__ import annotations

from collections.abc import Iterator

from harness.display.text_format import counted
from harness.report.view import Group, RunView
from harness.report.words.contest import Contest
from harness.report.words.entrants import has_values, is_scored, why_apart
from harness.report.words.wording import listed, name
from harness.statistics.cost import MOST_FAILED

_MOST_RUNS = 4


def weaknesses(group: Group) -> tuple[str, ...]:
    """Runs that did not finish or that failed; the first few of each."""
    unfinished = [view for view in group.views if not view.is_complete]
    failed = [view for view in group.views if view.n_errors]
    apart = " It stands apart: no rank, and nothing is compared with it." if len(group.views) > 1 else ""
    found = [f"{name(view.label)} is unfinished: {_missing(view)}.{apart}" for view in unfinished[:_MOST_RUNS]]
    found += [
        f"{name(view.label)} failed on {view.n_errors:,} of {_tried(view)}; each counts with the worst value"
        f"{_UNPRICED if view.fails_too_often else ''}."
        for view in failed[:_MOST_RUNS]
    ]
    left = len(unfinished[_MOST_RUNS:]) + len(failed[_MOST_RUNS:])
    return (*found, f"{left:,} more are unfinished or failed in part.") if left else tuple(found)


_UNPRICED = f", and above {100 * MOST_FAILED:g} % nothing is said of what it costs"


def unranked(contest: Contest) -> Iterator[str]:
    """Complete runs that the measure cannot rank, and why."""
    others = [
        view
        for position, view in enumerate(contest.group.views)
        if position not in contest.entrants and not view.is_baseline and view.is_complete
    ]
    unscored = [view for view in others if not is_scored(view)]
    if unscored:
        verb = "have" if len(unscored) > 1 else "has"
        yield f"{_names(unscored)} {verb} no scores and {_are(unscored)} not ranked: run rag-harness evaluate."
    scored = [view for view in others if is_scored(view)]
    lacking = [view for view in scored if not has_values(view, contest.measure)]
    word = contest.spoken
    if lacking:
        yield f"{_names(lacking)} {_are(lacking)} not ranked: no value of {word}."
    held = [view for view in scored if has_values(view, contest.measure)]
    for view in held:
        if why := why_apart(view, contest.measure):
            yield f"{name(view.label)} is not ranked by {word}: it {why}."
    otherwise = [view for view in held if not why_apart(view, contest.measure)]
    if otherwise:
        yield (
            f"{_names(otherwise)} {_are(otherwise)} not ranked: {word} was scored in another way "
            "(version, parameters, models or weights), so its values are not comparable."
        )


def _missing(view: RunView) -> str:
    left = view.n_expected - view.n_answered
    if left <= 0:
        return "every query is answered, but the run did not close"
    return f"{left:,} of {counted(view.n_expected, 'answer')} missing"


def _tried(view: RunView) -> str:
    """What a run has a record of: of repeats, each answer counts."""
    if view.frame.repeats > 1:
        return counted(view.n_answered, "answer")
    return counted(view.n_answered, "query", "queries")


def _names(views: list[RunView]) -> str:
    return listed([view.label for view in views])


def _are(views: list[RunView]) -> str:
    return "are" if len(views) > 1 else "is"
