"""How long answers are: words, a table and a figure in every report."""

from collections.abc import Iterable
from statistics import fmean

from harness.core.records import RunRecord
from harness.display import Content, Drawing, Quantity, Table, counted, printable
from harness.display.plotting import HALF_IN, PALETTE, NewFigure
from harness.report.sections import Reported, SectionSpec
from harness.statistics.confidence_intervals import mean_interval

Lengths = dict[str, float]
"""Words of the answer by query, the mean over repeats; a query without an answer has none."""


def content(reported: Reported) -> Content:
    """The longest answer in words, and the mean of each run; nothing where nobody answered."""
    lengths = _lengths(reported)
    if not lengths:
        return Content()
    longest, label = max((words, label) for label, own in lengths.items() for words in own.values())
    said = f"The longest answer has {counted(round(longest), 'word')} ({label})."
    return Content(paragraphs=[said], tables=[_table(lengths)])


def draw(reported: Reported, new_figure: NewFigure) -> Iterable[Drawing]:
    """A box for each run."""
    lengths = _lengths(reported)
    if not lengths:
        return
    figure = new_figure(figsize=(HALF_IN, 0.6 + 0.35 * len(lengths)), layout="constrained")
    axes = figure.subplots()
    columns = [list(own.values()) for own in lengths.values()]
    median = {"color": PALETTE[0], "linewidth": 2}
    axes.boxplot(columns, orientation="horizontal", tick_labels=list(lengths), widths=0.5, medianprops=median)
    axes.invert_yaxis()
    axes.set_xlabel("words of an answer")
    means = "; ".join(f"{label} {fmean(own.values()):.1f}" for label, own in lengths.items())
    n = counted(max(map(len, lengths.values())), "query", "queries")
    caption = f"How long answers are, over {n}. Box: the middle half; line: the median; circles: far away."
    yield Drawing("lengths", "Length of answers", caption, f"Mean words of an answer: {means}.", figure)


def _table(lengths: dict[str, Lengths]) -> Table:
    """Values stay values: page, files and terminal write a `Quantity` each in their own way."""
    rows = []
    for label, own in lengths.items():
        values = list(own.values())
        interval = mean_interval(values)
        mean = Quantity(fmean(values), interval.low, interval.high, n=len(values))
        rows.append((label, mean, Quantity(max(values))))
    return Table("lengths", "Words of an answer", ("system", "mean (95 % CI)", "most"), tuple(rows))


def _lengths(reported: Reported) -> dict[str, Lengths]:
    """By run, of those that answered anything."""
    found = {printable(view.label): _of_run(view.run.records().values()) for view in reported.group.views}
    return {label: own for label, own in found.items() if own}


def _of_run(records: Iterable[RunRecord]) -> Lengths:
    counts: dict[str, list[int]] = {}
    for record in records:
        if record.prediction and record.prediction.answer is not None:
            counts.setdefault(record.query_id, []).append(len(record.prediction.answer.split()))
    return {query_id: fmean(words) for query_id, words in counts.items()}


SPEC = SectionSpec("lengths", "How long answers are", content, draw)
