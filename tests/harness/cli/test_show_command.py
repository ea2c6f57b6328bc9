"""`rag-harness show`: one query, with what supports its answer."""

import io
import json
from pathlib import Path

import pytest
from labelled_runs import record
from paired_runs import FAILED, IMPUTED, ScoredRun, close_again, write_run

from harness.cli import show as show_command
from harness.core.errors import ConfigError
from harness.core.records import Context, Cost, Prediction, Step, Usage
from harness.display.text_format import NOTHING, SafeConsole
from harness.store import RunDir, name_for

EVIL = "[bold]x[/] \x1b[2J\u202e"


def show(
    run: RunDir,
    query_id: str | None,
    monkeypatch: pytest.MonkeyPatch,
    width: int = 100,
    *,
    full: bool = False,
    as_json: bool = False,
) -> str:
    console = SafeConsole(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    monkeypatch.setattr(show_command, "open_console", lambda: console)
    show_command.show_run(run.run_id, query_id, run.path.parent, full=full, as_json=as_json)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    """One query with a gold fact that a context holds, broken over two lines."""
    plan = ScoredRun(
        scores={"accuracy": [1.0], "em": [FAILED]},
        texts={"q000": f"Is it so? {EVIL}"},
        cites=("d2",),
        unfinished=1,
    )
    prediction = Prediction(
        answer=f"Yes {EVIL}",
        contexts=(
            Context(text=f"We know: It is\nso. {EVIL}", doc_ids=("d2",), score=0.5),
            Context(text="Venus is not.", doc_ids=("d9",)),
        ),
        evidence=(Context(text="It is so.", doc_ids=("d2",), kind="sentence", score=0.25),),
        trace=(Step(name=EVIL, content=EVIL),),
    )
    cost = Cost(wall_s=None, throttled_s=None, usage={"generator": Usage(calls=2, input_tokens=1_234)})
    made = write_run(tmp_path, plan)
    made.append_record(record("q000", prediction).model_copy(update={"cost": cost}))
    return made


def test_a_query_is_shown_with_gold_facts_scores_and_usage(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    text = show(run, "q000", monkeypatch, full=True)
    assert "context 1 (holds gold fact 1, gold document, score 0.500, passage: d2)" in text
    assert "context 2 (passage: d9)" in text
    assert "1. It is so.  [d2]" in text
    assert "evidence (holds gold fact 1, gold document, score 0.250, sentence: d2)" in text
    lines = [line.split() for line in text.splitlines()]
    assert ["accuracy", "0", "1", "scored"] in lines
    assert ["generator", "2", "1,234", "0", "0"] in lines
    # What was not measured is no zero.
    assert ["em", "0", NOTHING, "failed"] in lines
    assert ["latency", NOTHING] in lines
    with pytest.raises(ConfigError, match="has no query 'q00'"):
        show(run, "q00", monkeypatch)


def test_the_main_metrics_come_first_and_full_shows_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = write_run(tmp_path, ScoredRun(scores={"accuracy": [1.0], "Hit@1": [0.0]}))
    assert "Hit@1" not in show(made, "q000", monkeypatch)
    assert "Hit@1" in show(made, "q000", monkeypatch, full=True)


def test_a_run_is_json_with_records_and_scores_and_names_another_run_over_its_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = write_run(tmp_path, ScoredRun(scores={"accuracy": [1.0, 0.0]}))
    queries = json.loads(show(made, None, monkeypatch, as_json=True))["queries"]
    assert [query["scores"][0]["value"] for query in queries] == [1.0, 0.0]
    assert all(query["records"] for query in queries)
    assert "rag-harness compare" not in show(made, None, monkeypatch)
    other = write_run(tmp_path, ScoredRun(system="kg", scores={"accuracy": [1.0, 0.0]}))
    command = next(line for line in show(made, None, monkeypatch).splitlines() if "rag-harness compare" in line)
    assert command.split()[-2:] == [name_for(made), name_for(other)]


@pytest.mark.parametrize("query_id", ["q000", None])
@pytest.mark.parametrize("width", [50, 100, 160])
def test_nothing_steers_the_terminal_or_leaves_it(
    run: RunDir, monkeypatch: pytest.MonkeyPatch, query_id: str | None, width: int
) -> None:
    text = show(run, query_id, monkeypatch, width)
    assert "\x1b[2J" not in text
    assert "\u202e" not in text
    assert "[bold]" in text
    shown = [line for line in text.splitlines() if "rag-harness" not in line]
    assert max(len(line) for line in shown) <= min(width, 100)


def test_seconds_are_those_that_the_report_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first answer was replayed, the second cached, the third live; the fourth failed, the fifth timed out."""
    values = [1.0] * 3 + [IMPUTED] * 2
    made = write_run(tmp_path, ScoredRun(scores={"accuracy": values}, replayed=1, latency_s=[7.5]))
    second, late = made.records()["q001", 0], made.records()["q004", 0]
    cached = second.cost.model_copy(update={"cached_texts": 3})
    close_again(
        made,
        second.model_copy(update={"attempt": 2, "cost": cached}),
        late.model_copy(update={"attempt": 2, "status": "timeout"}),
    )
    text = show(made, None, monkeypatch, width=160)
    lines = [line for line in text.splitlines() if line.startswith("q00")]
    assert ["7.5" in line for line in lines] == [False, False, True, False, True]
    assert ["≥ 7.5" in line for line in lines] == [False] * 4 + [True]
    assert "failed, replayed and cached answers have no latency" in text
