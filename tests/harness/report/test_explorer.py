"""What the explorer's blocks hold, as a browser would unpack them, and what is kept of records and documents."""

import base64
import json
import random
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explorer_runs import Answers, Asked, Said, explorer_of, record, records, score, write_run

from harness.core.records import Context, Document, Failure, Prediction, RunRecord, Span
from harness.report.page import explorer_reading
from harness.report.page.explorer import Explorer, ValueTable, build_explorer
from harness.report.page.page import opening_group
from harness.report.records import ANSWERED, ERROR, MISSING, read_briefly
from harness.report.view import load_groups
from harness.statistics.prices import load_prices
from harness.store import RunDir
from harness.store import compressed_memory as packing
from harness.store.index_dir import Corpora, corpus_digest

MakeRun = Callable[..., RunDir]
TEXT = "The bridge was closed in 2031."


def unpack(explorer: Explorer, block: str) -> bytes:
    return zlib.decompress(base64.b64decode(dict(explorer.blocks)[block], validate=True))


def loaded(explorer: Explorer, part: str) -> Any:
    return json.loads(unpack(explorer, f"g0-{part}"))


def cells(explorer: Explorer, measure: str) -> list[Any]:
    core = loaded(explorer, "core")
    block = next(one["block"] for one in core["measures"] if one["name"] == measure)
    head, _, codes = unpack(explorer, block).partition(b"\n")
    table = json.loads(head)
    return [table[code] for code in codes]


def context(text: str = TEXT, *docs: str, **more: Any) -> Context:
    return Context(text=text, doc_ids=docs or ("doc",), **more)


def test_a_text_that_two_systems_retrieved_is_stored_once(tmp_path: Path) -> None:
    runs = [Answers(name, records({"q1": Said(contexts=(context(),))})) for name in ("kg", "naive")]
    explorer = explorer_of(tmp_path, [Asked("q1")], runs)
    assert loaded(explorer, "t0") == [[TEXT, "passage", [0]]]
    assert [run[0][0]["contexts"] for run in loaded(explorer, "d0")["runs"]] == [[[0, None]]] * 2


def test_a_text_is_shown_up_to_20_000_characters_and_says_how_many_more_there_are(tmp_path: Path) -> None:
    # Two that begin alike and are as long are one.
    texts = (context("x" * 1_000_000), context("x" * 999_999 + "y"), context("x" * 20_002))
    runs = [Answers("kg", records({"q1": Said(answer="a" * 20_003, contexts=texts)}))]
    explorer = explorer_of(tmp_path, [Asked("q1")], runs)
    assert loaded(explorer, "t0") == [[["x" * 20_000, left], "passage", [0]] for left in (980_000, 2)]
    assert loaded(explorer, "d0")["runs"][0][0][0]["answer"] == ["a" * 20_000, 3]
    assert len(loaded(explorer, "core")["runs"][0]["answers"][0]) == 400


def test_the_values_of_a_measure_are_means_over_repeats_in_the_order_of_runs_and_queries(tmp_path: Path) -> None:
    answered = {("q1", repeat): record("q1", Said(), repeat) for repeat in (0, 1)}
    # A repeat that failed does not hide the value of another.
    scores = [score("q1", 1.0), score("q1", 0.0, repeat=1), score("q2", "failed"), score("q2", 1.0, repeat=1)]
    scores += [score("q3", "not_applicable", repeat=repeat) for repeat in (0, 1)]
    runs = [
        Answers("kg", answered, scores, repeats=2),
        Answers("naive", answered, [score("q1", "imputed")], repeats=2),
    ]
    explorer = explorer_of(tmp_path, [Asked("q1"), Asked("q2"), Asked("q3")], runs)
    none = ["-", None]
    assert cells(explorer, "accuracy") == [["s", 0.5], ["s", 1.0], ["n", None], ["i", 0.0], none, none]
    assert loaded(explorer, "core")["runs"][0]["status"] == [1, 16, 16]


def test_a_status_combines_the_outcomes_of_all_repeats(tmp_path: Path) -> None:
    said = {
        ("q1", 0): record("q1", Failure(kind="timeout", message="late"), 0),
        ("q1", 1): record("q1", Said("Insufficient information."), 1),
        ("q2", 0): record("q2", Failure(kind="ValueError", message="no"), 0),
        ("q2", 1): record("q2", Said(None), 1),
    }
    explorer = explorer_of(tmp_path, [Asked("q1"), Asked("q2")], [Answers("kg", said, repeats=2)])
    run = loaded(explorer, "core")["runs"][0]
    assert run["status"] == [8 | 2, 4 | 1]
    assert run["answers"] == ["Insufficient information.", None]


def test_a_measure_without_a_value_is_named_and_has_no_block(tmp_path: Path) -> None:
    scores = [score("q1", "failed", "kg_coverage", why="judge down"), score("q1", 1.0)]
    explorer = explorer_of(tmp_path, [Asked("q1")], [Answers("kg", records({"q1": Said()}), scores)])
    measures = loaded(explorer, "core")["measures"]
    assert [(one["name"], bool(one["block"])) for one in measures] == [("accuracy", True), ("kg_coverage", False)]
    failed = {"status": "f", "value": [None], "why": [0], "reasons": ["judge down"]}
    assert loaded(explorer, "d0")["scores"][1] == failed


def test_accuracy_comes_first_and_an_unknown_measure_last(tmp_path: Path) -> None:
    scores = [score("q1", 0.5, name) for name in ("a stranger's", "token_f1", "hallucination_rate")]
    scores.append(score("q1", 1.0))
    explorer = explorer_of(tmp_path, [Asked("q1")], [Answers("kg", records({"q1": Said()}), scores)])
    measures = loaded(explorer, "core")["measures"]
    names = ["accuracy", "hallucination_rate", "token_f1", "a stranger's"]
    assert [one["name"] for one in measures] == names
    assert [one["up"] for one in measures] == [True, False, True, None]


def test_where_the_room_ends_the_last_queries_lose_contexts_and_keep_answers_and_values(tmp_path: Path) -> None:
    ids = [f"q{number:03d}" for number in range(72)]
    said = {name: Said(f"answer {name}", (context(f"{name} {TEXT}" * 40),)) for name in ids}
    run = Answers("kg", records(said), [score(name, 1.0) for name in ids])
    asked = [Asked(name) for name in ids]
    whole = explorer_of(tmp_path, asked, [run])
    size = sum(len(text) for _, text in whole.blocks)
    small = explorer_of(tmp_path, asked, [run], budget_bytes=size * 2 // 3)
    assert whole.context["n_detailed"] == 72
    assert 0 < small.context["n_detailed"] < 72
    assert small.context["n_detailed"] == loaded(small, "core")["detailed"]
    assert sum(len(text) for _, text in small.blocks) <= size * 2 // 3 + 100
    assert loaded(small, "core")["runs"][0]["answers"][-1] == "answer q071"
    assert cells(small, "accuracy") == [["s", 1.0]] * 72
    assert explorer_of(tmp_path, asked, [run], budget_bytes=0).context["n_detailed"] == 0


def test_a_run_without_records_and_scores_has_queries_to_show(tmp_path: Path) -> None:
    explorer = explorer_of(tmp_path, [Asked("q1", "Why?")], [Answers("kg", {})])
    core = loaded(explorer, "core")
    assert core["queries"]["text"] == ["Why?"]
    assert core["measures"] == []
    assert loaded(explorer, "d0")["runs"] == [[[{}]]]


@pytest.mark.parametrize("distinct", [3, 300, 70_000])
def test_cells_take_as_many_bytes_as_there_are_distinct_ones(distinct: int) -> None:
    table = ValueTable([(np.full(distinct, ord("s"), np.uint8), np.arange(distinct, dtype=np.float64))])
    head, _, codes = zlib.decompress(base64.b64decode(table.packed())).partition(b"\n")
    found = json.loads(head)
    width = len(codes) // distinct
    numbers = [sum(codes[plane * distinct + at] << 8 * plane for plane in range(width)) for at in range(distinct)]
    assert [found[number][1] for number in numbers] == list(range(distinct))
    assert width == (1 if distinct < 256 else 2 if distinct < 65_536 else 3)


def test_a_block_is_base64_and_nothing_that_could_end_its_element(tmp_path: Path) -> None:
    hostile = "</script><!--<script>\x00\u202e\ud800".encode("utf-8", "replace").decode()
    run = Answers("kg", records({"q1": Said(hostile, (context(hostile),))}))
    explorer = explorer_of(tmp_path, [Asked("q1", hostile)], [run])
    for _, text in explorer.blocks:
        base64.b64decode(text, validate=True)
    assert loaded(explorer, "t0")[0][0] == hostile


DOCUMENTS = [Document(doc_id="oven.pdf", text="# Ovens\nOld.\n\f# Keys\nLeft.")]
DIGEST = corpus_digest(DOCUMENTS)


def placed(doc_id: str) -> Context:
    return Context(text="Keys", doc_ids=(doc_id,), span=Span(doc_id=doc_id, start=14, end=20))


@pytest.mark.parametrize(
    ("shown", "has_places", "is_damaged", "said"),
    [
        (placed("oven.pdf"), True, False, ["page 2, Keys"]),
        (placed("other.pdf"), True, False, []),
        (context("Keys", "oven.pdf"), True, False, []),
        (placed("oven.pdf"), False, False, []),
        (placed("oven.pdf"), True, True, []),
    ],
)
def test_a_context_says_its_page_and_section_where_they_are_known(
    tmp_path: Path, shown: Context, has_places: bool, is_damaged: bool, said: list[str]
) -> None:
    asked = write_run(tmp_path / "asked", [Asked("q")], Answers("naive", records({"q": Said(contexts=(shown,))})))
    manifest = asked.manifest()
    dataset = {**manifest.dataset, "has_places": has_places, "corpus_digest": DIGEST}
    run = RunDir.create(tmp_path, manifest.model_copy(update={"dataset": dataset}), asked.sample())
    run.append_records(asked.iter_records())
    Corpora(tmp_path).save(DIGEST, DOCUMENTS)
    if is_damaged:
        path = Corpora(tmp_path).path(DIGEST)
        path.write_text(path.read_text().replace("Old", "New"))
    (group,) = load_groups([run], load_prices())
    ((_, _, _, *where),) = loaded(build_explorer(group, "g0"), "t0")
    assert where == said


@pytest.mark.parametrize("kept", [0, 4096])
def test_of_several_attempts_the_highest_counts_wherever_its_line_stands(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    monkeypatch.setattr(packing, "BLOCK", 3)
    monkeypatch.setattr(packing, "KEPT", kept)
    run = make_run()
    run.reopen()
    [first, *_] = run.iter_records()
    lines: list[RunRecord] = []
    for number in range(40):
        ok = number % 3 > 0
        told = {"query_id": f"other-{number % 10}", "attempt": 1 + number // 10 + number % 2}
        said = Prediction(answer=None if number % 7 == 0 else "so " * 300) if ok else None
        failure = None if ok else Failure(kind="E", message=str(number))
        status = "ok" if ok else "error"
        lines.append(first.model_copy(update={**told, "prediction": said, "failure": failure, "status": status}))
    whole = {(one.query_id, one.attempt): one for one in lines}
    shuffled = list(whole.values())
    random.Random(7).shuffle(shuffled)
    run.append_records(shuffled)

    answers, briefs = read_briefly(run)
    counting = run.records()
    assert answers.keys() == counting.keys() == briefs.keys()
    assert len(answers.all) == len(list(run.iter_records()))
    for key, one in counting.items():
        assert (answers[key].attempt, answers[key].status) == (one.attempt, one.status)
        assert run.records_at([briefs.place(key)]) == [one]
        answer = one.prediction.answer if one.prediction else None
        assert briefs.has_answer(key) == (answer is not None)
        assert (briefs[key] or "")[:100] == (answer or "")[:100]
        if key[0].startswith("other"):
            assert briefs.status(key) == (ANSWERED if one.status == "ok" else ERROR)
    assert briefs.status(("nobody", 0)) == MISSING
    assert not briefs.is_answered(("nobody", 0))
    assert not briefs.has_answer(("nobody", 0))


def test_answers_in_random_order_are_decompressed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "BLOCK", 3)
    monkeypatch.setattr(packing, "KEPT", 0)
    asked = [f"q{number:02d}" for number in range(30)]
    answered = asked[:]
    random.Random(7).shuffle(answered)
    scores = [score(name, 1.0, "wrong_answers", label="refused") for name in asked[::2]]
    scores += [score(name, 0.0, "wrong_answers") for name in asked[1::2]]
    said = Answers("kg", records({name: Said(name) for name in answered}), scores)
    (group,) = load_groups([write_run(tmp_path, [Asked(name) for name in asked], said)], load_prices())
    kept = group.views[0].briefs.all
    read, blocks = kept._read, list[bytes]()

    def reading(block: bytes) -> object:
        blocks.append(block)
        return read(block)

    monkeypatch.setattr(kept, "_read", reading)
    monkeypatch.setattr(explorer_reading, "_AT_ONCE", 7)
    assert opening_group([group]) is group
    (run,) = loaded(build_explorer(group, "g0"), "core")["runs"]
    assert len(blocks) == len({*blocks}) == 10
    assert run["answers"] == asked
    assert run["kinds"] == [[1, 0] * 15]


def test_the_details_of_an_answer_have_its_costs(tmp_path: Path) -> None:
    cost = record("q1", Said()).cost.model_copy(update={"cached_texts": 3, "wall_s": 1.73456})
    answered = {("q1", 0): record("q1", Said()).model_copy(update={"cost": cost, "attempt": 2})}
    details = loaded(explorer_of(tmp_path, [Asked("q1")], [Answers("kg", answered)]), "d0")["runs"][0][0][0]
    assert details["attempt"] == 2
    assert details["cost"] == {
        **{"latency_s": 1.23, "wall_s": 1.73, "throttled_s": 0.5, "unmetered": 0, "replayed": 1, "cached": 3},
        "stages": [["retrieve", 0.25], ["generate", 1.25]],
        "usage": [["generator", 2, 1200, 7]],
    }
