"""A comparison for programs: comparison.csv, differences.csv, and a JSON value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from harness.display import printable
from harness.display.text_format import csv_name
from harness.report.comparison.compare import Comparison
from harness.report.comparison.tables import which_as_good
from harness.report.folder import files_together
from harness.report.formats import csv_text, exact
from harness.statistics.confidence_intervals import UNKNOWN
from harness.statistics.paired_comparison import ComparedPair, MeasureComparison, differing_queries

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
            yield [comparison.title, comparison.query_type, *_pair_cells(comparison, compared, pair)]


def differences_csv(comparison: Comparison) -> str:
    """A row for each query on which the two runs of a pair have different values, without costs."""
    return _csv((DIFFERENCE_COLUMNS, *_differences(comparison)))


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
    return [
        dict(zip(COLUMNS[4:], _pair_cells(comparison, compared, pair)[2:], strict=True)) for pair in compared.pairs
    ]


def _pair_cells(comparison: Comparison, compared: MeasureComparison, pair: ComparedPair) -> list[object]:
    """The cells of COLUMNS from `measure` on."""
    measure, beside = compared.measure, pair.balanced
    return [
        *(printable(measure.name), measure.higher_is_better),
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
    runs = [comparison.runs[position] for position in (pair.a, pair.b)]
    return [name for one in runs for name in (printable(one.run.run_id, 200), one.label)]


def _differences(comparison: Comparison) -> Iterator[list[object]]:
    for compared in (*comparison.measures, *comparison.apart):
        measure, way = compared.measure, compared.measure.higher_is_better
        for pair in compared.pairs if not measure.is_cost else ():
            first, second = (measure.runs[position].values for position in (pair.a, pair.b))
            types, names = comparison.runs[pair.a].frame.query_types, _names(comparison, pair)
            for query_id in differing_queries(measure, (pair.a, pair.b), comparison.shared[pair.a, pair.b]):
                a, b = first[query_id], second[query_id]
                better = "" if way is None else "a" if (a > b) == way else "b"
                yield [measure.name, *names, query_id, types[query_id], a, b, better]


def _csv(lines: Iterable[Iterable[object]]) -> str:
    return csv_text([csv_name(cell) if isinstance(cell, str) else exact(cell) for cell in line] for line in lines)
