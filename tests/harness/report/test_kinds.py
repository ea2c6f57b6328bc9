"""Measures that sort answers: counted, drawn, advised on, and never what ranks."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from explorer_runs import Answers, Asked, Said, records, score, write_run

from harness.core.records import Score
from harness.display import Drawing, format_value
from harness.display.plotting import plotting, publish, tell
from harness.report.chapter import build_chapter
from harness.report.figures.measured import draw_measured
from harness.report.tables.scores import advice, kinds_table
from harness.report.view import Group, load_groups
from harness.statistics.prices import load_prices

IDS = tuple(f"q{number}" for number in range(6))
MEASURE = "wrong_answers"
HOSTILE = '<script>alert("x")</script>&'


def sorted_scores(labels: Sequence[str]) -> list[Score]:
    values = [score(name, float(not label)) for name, label in zip(IDS, labels, strict=True)]
    kinds = [
        score(name, float(bool(label)), MEASURE, label=label) for name, label in zip(IDS, labels, strict=True)
    ]
    return [*values, *kinds]


@pytest.fixture
def group(tmp_path: Path) -> Group:
    said = records({name: Said() for name in IDS})
    labels = {
        "kg": ("ranked-too-low", "ranked-too-low", "refused", "", "", ""),
        "naive": ("answered-wrong", "ranked-too-low", "", "", "", "from elsewhere"),
    }
    runs = [Answers(name, said, sorted_scores(own)) for name, own in labels.items()]
    written = [write_run(tmp_path, [Asked(name) for name in IDS], run) for run in runs]
    return load_groups(written, load_prices())[0]


def test_every_kind_that_any_run_has_is_counted_in_the_order_of_the_measure(group: Group) -> None:
    table = kinds_table(group, group.known[MEASURE])
    titles = ["ranked too low", "in the context, answered wrong", "in the context, abstained", "from elsewhere"]
    assert [row[0] for row in table.rows[1:]] == titles
    counts = [[format_value(entry) for entry in row[1:]] for row in table.rows[1:]]
    assert counts == [[f"{n} of 6" for n in row] for row in ((2, 1), (0, 1), (1, 0), (0, 1))]


def test_a_verdict_says_how_many_answers_may_be_right_in_other_words(group: Group, tmp_path: Path) -> None:
    assert not [note for note in build_chapter(group).findings.verdict.caveats if "2 of 6" in note]
    said = records({name: Said() for name in IDS})
    near = sorted_scores(("worded-otherwise", "worded-otherwise", "", "", "", ""))
    run = write_run(tmp_path / "near", [Asked(name) for name in IDS], Answers("kg", said, near))
    (other,) = load_groups([run], load_prices())
    (note,) = [one for one in build_chapter(other).findings.verdict.caveats if "2 of 6" in one]
    assert note.startswith("kg")


def test_what_most_answers_suffer_from_is_advised_on_first(group: Group) -> None:
    told = advice(group, [group.known[MEASURE]])
    assert told[0].startswith("Ranked too low: ")
    assert len(told) == 3
    # It has a table of its own, and ranks no runs.
    chapter = build_chapter(group)
    assert chapter.findings.measure == "accuracy"
    others = [row[0] for one in chapter.tables() if one.name.startswith("measures-") for row in one.rows]
    assert MEASURE not in others


def test_the_picture_says_how_many_answers_of_each_kind_a_run_has(group: Group, tmp_path: Path) -> None:
    with plotting() as new_figure:
        (drawing,) = draw_measured(group, [MEASURE], new_figure)
        picture = publish(drawing, tmp_path)
    assert "2 ranked too low, 1 in the context, abstained" in drawing.alt
    assert "ranked too low: 2 of 6 (33.3 %)</title>" in (tmp_path / picture.path).read_text(encoding="utf-8")


def test_a_figure_is_drawn_once_for_its_file_and_the_page(tmp_path: Path) -> None:
    drawn: list[str] = []
    with plotting() as new_figure:
        figure = new_figure(layout="constrained")
        figure.subplots().plot([1], [1])
        figure.canvas.mpl_connect("draw_event", lambda event: drawn.append(type(event.renderer).__name__))
        publish(Drawing("one", "One", "One.", "One.", figure), tmp_path)
    assert len(drawn) == 1, drawn


def test_what_is_told_of_a_mark_stays_words(tmp_path: Path) -> None:
    with plotting() as new_figure:
        figure = new_figure()
        (marker,) = figure.subplots().plot([1], [1], marker="o")
        tell(marker, HOSTILE)
        picture = publish(Drawing("one", "One", "One.", "One.", figure), tmp_path)
    assert "<script" not in picture.svg
    assert "<title>&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;</title>" in picture.svg
