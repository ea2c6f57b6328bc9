"""What a ranking leaves out where its measure says nothing of refused answers."""

from __future__ import annotations

from collections.abc import Iterator

from harness.display.text_format import counted
from harness.report.measures import ranged
from harness.report.refusals import Refusals, refusals_of
from harness.report.view import RunView
from harness.report.words.bounds import means_over
from harness.report.words.contest import Contest
from harness.report.words.standings import natural_mix
from harness.report.words.wording import level, name, title_of
from harness.statistics import NATURAL, OVERALL, Aggregate


def refusal_sentences(contest: Contest) -> Iterator[str]:
    """How many answers of each run have a value, and the means where a refused query counts as the worst."""
    compared = contest.ranked
    found = refusals_of(contest.group, [contest.measure]).get(contest.measure)
    if compared is None or found is None:
        return
    views = [contest.view(place) for place in contest.order[:4]]
    held = ", ".join(f"{name(view.label)} {found.n_values(view):,} of {len(found.applies):,}" for view in views)
    yield (
        f"{title_of(compared)[:1].upper()}{title_of(compared)[1:]} says nothing of some answers ({held} have a "
        f"value): compared on the {counted(compared.n_common, 'query', 'queries')} of all."
    )
    if any(found.refused[view.run.run_id] for view in views):
        means = []
        for view in views:
            row = _counting_refused(contest, found, view)
            means.append(f"{name(view.label)} {level(compared, row.mean if row else None)}")
        worst = level(compared, found.measure.failure_value)
        yield f"A refused answerable query counting {worst}: {', '.join(means)} (shown, not tested)."


def _counting_refused(contest: Contest, found: Refusals, view: RunView) -> Aggregate | None:
    """The mean of a run in which what it refused counts as the worst, in the mix of the contest."""
    values, mix = found.counting_refused(view), NATURAL if natural_mix(contest) else OVERALL
    rows = means_over(view.frame, ranged(found.measure), values, frozenset(values))
    return next((row for row in rows if row.query_type == mix), None)
