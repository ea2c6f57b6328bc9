"""A comparison for programs: comparison.csv, differences.csv and a JSON value; and for a terminal: at most 25
lines for two runs, with `full` every table and note."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from rich.console import Console

from harness.display import Entry, Quantity, Table, counted, printable, short_number
from harness.display.text_format import csv_name
from harness.report.comparison.compare import Comparison, gap_of
from harness.report.comparison.tables import comparison_tables, which_as_good
from harness.report.folder import files_together
from harness.report.formats import csv_text, exact
from harness.report.labels import run_labels, shortened
from harness.report.terminal import WIDTH, plain, print_notes, print_table
from harness.statistics.confidence_intervals import UNKNOWN, exact_share
from harness.statistics.cost import TIMES
from harness.statistics.paired_comparison import ComparedPair, MeasureComparison, differing_queries
from harness.statistics.recommendation import MISSING_MATTERS, Lead, leads_of, ranked_places
from harness.store import RunDir
from harness.store.annotations import Preference

COLUMNS = (
    *("dataset", "query_type", "measure", "higher_is_better", "run_a", "system_a", "run_b", "system_b"),
    *("n", "n_expected", "mean_a", "mean_b", "difference", "ci_low", "ci_high", "ratio"),
    *("n_a_better", "n_equal", "n_b_better", "test", "p", "family", "p_holm", "result", "detectable"),
    *("ci_level", "mix", "population", "n_clusters", "p_clusters", "clusters_ci_low", "clusters_ci_high"),
    *("balanced_difference", "balanced_ci_low", "balanced_ci_high", "balanced_p_holm"),
    *("margin", "as_good", "apart"),
)
DIFFERENCE_COLUMNS = (
    *("measure", "run_a", "system_a", "run_b", "system_b", "query_id", "query_type", "value_a", "value_b"),
    "better",
)
_LEGEND = (
    "> better, < worse: p (Holm) of all pairs of the table is at most 0.05; ~ is a tie, which is no proof of "
    "equality. A - B with an interval that excludes 0 exactly then (at least 95 %). better/equal/worse: queries "
    "on which A is that. detectable: the true difference that so many queries would show four times out of five."
)


def write_comparison(comparison: Comparison, out: Path) -> Path:
    """Write comparison.csv and differences.csv into `out`. The same runs give the same bytes."""
    with files_together(out) as folder:
        (folder / "comparison.csv").write_text(comparison_csv(comparison), encoding="utf-8")
        (folder / "differences.csv").write_text(differences_csv(comparison), encoding="utf-8")
    return out


def comparison_csv(comparison: Comparison) -> str:
    return _csv((COLUMNS, *comparison_rows(comparison)))


def comparison_rows(comparison: Comparison) -> Iterator[list[object]]:
    """A row of COLUMNS for each metric and pair. `result`: a or b is significantly better, `tie`, or `differ` if
    the metric has no direction (then `n_a_better` counts higher values). `ci_level`: of the interval, see
    `harness.statistics.multiple_comparisons`. `balanced_*`: each query counts the same, if `mix` is another.
    `as_good`: a, b, both or neither is worse by less than `margin` points. `apart`: a pair with a baseline,
    corrected as a separate family. None: unknown.
    """
    for compared in (*comparison.measures, *comparison.apart):
        for pair in compared.pairs:
            yield _row(comparison, compared, pair)


def differences_csv(comparison: Comparison) -> str:
    """A row for each query on which the two runs of a pair have different values, without costs."""
    lines: list[Iterable[object]] = [DIFFERENCE_COLUMNS]
    for compared in (*comparison.measures, *comparison.apart):
        measure, way = compared.measure, compared.measure.higher_is_better
        for pair in compared.pairs if not measure.is_cost else ():
            first, second = measure.runs[pair.a], measure.runs[pair.b]
            types, names = comparison.runs[pair.a].frame.query_types, _names(comparison, pair)
            for query_id in differing_queries(measure, (pair.a, pair.b), comparison.shared[pair.a, pair.b]):
                a, b = first[query_id], second[query_id]
                better = "" if way is None else "a" if (a > b) == way else "b"
                lines.append([measure.name, *names, query_id, types[query_id], a, b, better])
    return _csv(lines)


def comparison_json(comparison: Comparison) -> dict[str, object]:
    return {
        "dataset": comparison.title,
        "query_type": comparison.query_type,
        "runs": [{"run_id": printable(one.run.run_id, 200), "system": one.label} for one in comparison.runs],
        "against": None if comparison.against is None else comparison.label(comparison.against),
        "notes": list(comparison.notes),
        "measures": [_measure_json(comparison, compared) for compared in comparison.measures],
        "apart": [
            {"measure": printable(compared.measure.name), "pairs": _pairs_json(comparison, compared)}
            for compared in comparison.apart
        ],
    }


def _measure_json(comparison: Comparison, compared: MeasureComparison) -> dict[str, object]:
    nothing = (None,) * len(compared.means)
    means = zip(compared.means, compared.ranks or nothing, compared.balanced_means or nothing, strict=True)
    ranking = [
        {"system": run.label, "mean": mean, "ranks": ranks, "balanced_mean": balanced}
        for run, (mean, ranks, balanced) in zip(comparison.runs, means, strict=True)
    ]
    return {
        "measure": printable(compared.measure.name),
        "higher_is_better": compared.measure.higher_is_better,
        "n_common": compared.n_common,
        "mix": compared.mix,
        "ranking": ranking,
        "pairs": _pairs_json(comparison, compared),
    }


def _pairs_json(comparison: Comparison, compared: MeasureComparison) -> list[dict[str, object]]:
    rows = [_row(comparison, compared, pair) for pair in compared.pairs]
    return [dict(zip(COLUMNS[4:], row[4:], strict=True)) for row in rows]


def _row(comparison: Comparison, compared: MeasureComparison, pair: ComparedPair) -> list[object]:
    measure, beside = compared.measure, pair.balanced
    return [
        *(comparison.title, comparison.query_type, printable(measure.name), measure.higher_is_better),
        *_names(comparison, pair),
        *(pair.n, pair.n_expected, pair.mean_a, pair.mean_b, pair.difference),
        *(pair.interval.low, pair.interval.high, pair.ratio),
        *compared.outcomes(pair),
        *(compared.test, pair.p, len(compared.pairs), pair.p_holm, compared.verdict(pair), pair.detectable),
        *(pair.level, compared.mix, pair.population, pair.n_clusters, pair.p_clusters),
        *(pair.interval_clusters or UNKNOWN),
        *((None,) * 4 if beside is None else (beside.difference, *beside.interval, beside.p_holm)),
        *(comparison.margin, which_as_good(compared, pair, comparison.margin)),
        any(compared is one for one in comparison.apart),
    ]


def _names(comparison: Comparison, pair: ComparedPair) -> list[str]:
    runs = [comparison.runs[place] for place in (pair.a, pair.b)]
    return [name for one in runs for name in (printable(one.run.run_id, 200), one.label)]


def _csv(lines: Iterable[Iterable[object]]) -> str:
    return csv_text([csv_name(cell) if isinstance(cell, str) else exact(cell) for cell in line] for line in lines)


def render_comparison(comparison: Comparison, console: Console, *, full: bool = False) -> None:
    """Print which run is better, and the main metrics; `full`: the pairs of every metric, and all notes."""
    width = min(console.width, WIDTH if full else 80)
    console.print(plain(title_of(comparison), "dim"), width=width)
    console.print(plain(headline(comparison), "bold"), width=width)
    console.print()
    if full:
        for table in comparison_tables(comparison):
            print_table(table, console, width)
        console.print(plain(_LEGEND, "dim"), width=width)
    else:
        print_table(_brief(comparison), console, width, titled=False)
    left = len(comparison.measures) - len(_shown(comparison)) if not full else 0
    left_out = [counted(left, "more metric")] if left > 0 else []
    runs = [one.run for one in comparison.runs]
    print_notes(comparison.notes, console, width, full=full, left_out=left_out, runs=runs)


def title_of(comparison: Comparison) -> str:
    """`4 runs compared over demo, queries of type inference, each against naive`."""
    kind = f", queries of type {comparison.query_type}" if comparison.query_type else ""
    against = "" if comparison.against is None else f", each against {comparison.label(comparison.against)}"
    return f"{counted(len(comparison.runs), 'run')} compared over {comparison.title}{kind}{against}"


def headline(comparison: Comparison) -> str:
    """Which run is better by the first metric with a direction, and by how much."""
    found = [one for one in comparison.measures if one.pairs and one.measure.higher_is_better is not None]
    if not found:
        return "No metric that the runs share says which one is better."
    compared, first = found[0], comparison.runs[0]
    if any(one.sample is not first.sample and one.sample != first.sample for one in comparison.runs):
        counts = " and ".join(f"{len(run.sample):,}" for run in comparison.runs[:2])
        return f"Inconclusive: the runs were asked different queries ({counts}, {compared.n_common:,} in common)."
    # Imported answers do not say which documents were searched.
    if len({one.manifest.dataset.get("corpus_digest") for one in comparison.runs} - {None}) > 1:
        return "Inconclusive: the runs searched different documents."
    if comparison.against is not None and len(comparison.runs) > 2:
        against = comparison.against
        verdicts = [compared.verdict(pair if pair.b == against else pair.turned) for pair in compared.pairs]
        better, worse = (counted(verdicts.count(one), "run is", "runs are") for one in ("a", "b"))
        than = shortened(comparison.label(against))
        return f"By {_title(compared)}, {better} significantly better than {than} and {worse} worse."
    best, *_ = ranked_places(compared)
    leads = leads_of(compared, best)
    return _of_leads(comparison, compared, best, leads) if leads else f"Compared by {_title(compared)}."


def _of_leads(comparison: Comparison, compared: MeasureComparison, best: int, leads: Sequence[Lead]) -> str:
    lead = leads[0]
    first, second = (shortened(comparison.label(place)) for place in (best, lead.place))
    points = f"{short_number(100 * lead.difference)} points"
    by = f"{points if compared.measure.is_share else short_number(lead.difference)} in {_title(compared)}"
    by += " (lower is better)" if compared.measure.higher_is_better is False else ""
    if all(one.is_shown for one in leads):
        if len(leads) == 1:
            return f"{first} is significantly better than {second}, by {by}."
        return f"{first} is significantly better than every other run, {second} by {by}."
    if lead.n_missing > MISSING_MATTERS * compared.n_common:
        known = [place for place, mean in enumerate(compared.means) if mean is not None]
        most = max(known, key=lambda place: (compared.n_missing[place], place))
        queries = f"{compared.n_missing[most]:,} of {counted(compared.n_common, 'query', 'queries')}"
        return f"Inconclusive: {shortened(comparison.label(most))} has no value for {queries}."
    if lead.is_shown_here:
        return f"{first} is significantly better than {second}, but only on these documents: {by}."
    shown = f"No significant difference: {first} is ahead of {second} by {by}"
    if not lead.difference:
        shown = f"No significant difference in {_title(compared)}: {first} and {second} have the same score"
    if len(compared.pairs) == 1 and which_as_good(compared, compared.pairs[0], comparison.margin) == "both":
        return f"{shown}. They are equally good within {comparison.margin:g} points."
    return f"{shown}, which may be chance." if lead.difference else f"{shown}."


def _title(compared: MeasureComparison) -> str:
    unit = ", s" if compared.measure.name in TIMES else ""
    mean = f" (mean{unit})" if compared.measure.is_cost else ""
    return f"{printable(compared.measure.title or compared.measure.name, 60)}{mean}"


def _shown(comparison: Comparison) -> list[MeasureComparison]:
    held = {one.measure.name: one for one in comparison.measures if one.pairs}
    return [held[name] for name in comparison.main if name in held][:10]


def _brief(comparison: Comparison) -> Table:
    if len(comparison.runs) == 2:
        names = [printable(comparison.label(place), 24) for place in (0, 1)]
        both = tuple(_two_runs(one) for one in _shown(comparison))
        return Table("metrics", "Metrics", ("metric", *names, "difference [95 %]", "queries", "better"), both)
    shown = [one for one in _shown(comparison) if one.measure.higher_is_better is not None]
    if not shown:
        labels = tuple((printable(run.label, 60),) for run in comparison.runs)
        return Table("metrics", "Metrics", ("system",), labels)
    first, *others = shown[:3]
    ranked = ranked_places(first)
    base = ranked[0] if comparison.against is None else comparison.against
    leads = {lead.place: lead for lead in leads_of(first, base)}
    is_won = all(lead.is_shown for lead in leads.values())
    rows = tuple(
        (
            printable(comparison.label(place), 40),
            _label(first, base, place, is_won=is_won),
            _value(first, first.means[place]),
            _difference(first, *gap_of(first, leads[place], base, is_won=is_won)) if place in leads else "",
            *(_value(one, one.means[place]) for one in others),
        )
        for place in dict.fromkeys((*ranked, *range(len(comparison.runs))))
    )
    against = "the best" if comparison.against is None else printable(comparison.label(base), 40)
    header = ("system", "", _title(first), f"against {against}", *map(_title, others))
    return Table("metrics", "Metrics", header, rows)


def _two_runs(compared: MeasureComparison) -> tuple[Entry, ...]:
    """The row of a metric: both means, and the difference with the interval that a report shows of it."""
    pair = compared.pairs[0] if compared.pairs[0].a == 0 else compared.pairs[0].turned
    leads = leads_of(compared, pair.b)
    gap = gap_of(compared, leads[0], pair.b, is_won=leads[0].is_shown) if leads else None
    better = {"a": "first", "b": "second", "tie": "", "differ": "they differ"}[compared.verdict(pair)]
    return (
        _title(compared),
        _value(compared, pair.mean_a),
        _value(compared, pair.mean_b),
        _difference(compared, *(gap or (pair.difference, *pair.interval))),
        f"{pair.n:,}",
        f"{better}{_here(pair)}",
    )


def _label(compared: MeasureComparison, base: int, place: int, *, is_won: bool) -> str:
    """`worse`, `worse here` (on these documents only), `tied`; empty for the run that the others stand against."""
    pair = compared.pair_of(base, place)
    if pair is None or place == base:
        return ""
    if not pair.significant and not is_won:
        return "tied"
    is_better = compared.verdict(pair) == ("a" if pair.a == place else "b")
    return f"{'better' if is_better else 'worse'}{'' if is_won else _here(pair)}"


def _here(pair: ComparedPair) -> str:
    return " here" if pair.significant and pair.population == "documents" else ""


def _value(compared: MeasureComparison, mean: float | None) -> Entry:
    return None if mean is None else Quantity(mean, unit="± %" if compared.measure.is_share else "two")


def _difference(compared: MeasureComparison, mean: float, low: float | None, high: float | None) -> Quantity:
    return Quantity(mean, low, high, unit="points" if compared.measure.is_share else "two", signed=True)


@dataclass(frozen=True)
class VoteCount:
    """The votes of people between the answers of two runs."""

    runs: tuple[str, str]
    names: tuple[str, str]
    preferred: tuple[int, int]
    n_tie: int

    @property
    def n(self) -> int:
        return sum(self.preferred) + self.n_tie

    def line(self) -> str:
        """How often each was preferred, and the share of the first without ties, with an exact 95 % interval."""
        (first, second), (n_first, n_second) = (shortened(name) for name in self.names), self.preferred
        said = f"votes: {first} preferred {n_first:,} of {self.n:,}, {second} {n_second:,}, tie {self.n_tie:,}"
        low, high = exact_share(n_first, sum(self.preferred))
        if low is None or high is None:
            return said
        share = 100 * n_first / sum(self.preferred)
        return f"{said}; without ties {first} {share:.0f} % [{100 * low:.0f} %, {100 * high:.0f} %]"

    def as_value(self) -> dict[str, object]:
        low, high = exact_share(self.preferred[0], sum(self.preferred))
        (run_a, run_b), (n_a, n_b) = self.runs, self.preferred
        counts = {"n": self.n, "n_a": n_a, "n_b": n_b, "n_tie": self.n_tie}
        return {"run_a": run_a, "run_b": run_b, **counts, "ci_low": low, "ci_high": high}


def votes_between(runs: Sequence[RunDir], votes: Sequence[Preference]) -> list[VoteCount]:
    """The votes on each pair of runs that has some."""
    manifests = {manifest.run_id: manifest for manifest in (run.manifest() for run in runs)}
    names = dict(zip(manifests, run_labels(list(manifests.values())), strict=True))
    found = []
    for pair in combinations(manifests, 2):
        own = [vote for vote in votes if {vote.run_a, vote.run_b} == {*pair}]
        better = [vote.run_a if vote.choice == "a" else vote.run_b for vote in own if vote.choice != "tie"]
        if own:
            counts = (better.count(pair[0]), better.count(pair[1]))
            found.append(VoteCount(pair, (names[pair[0]], names[pair[1]]), counts, len(own) - len(better)))
    return found
