"""A run made of answers from elsewhere: complete, honest about what it does not know, and like any other run."""

import json
import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from records import known
from scoring import build_scorer, scores_of_run

from harness.core.errors import DataError, HarnessError, StoreError
from harness.core.records import Cost, RunRecord, Usage
from harness.datasets import demo, load_dataset, multihop_rag
from harness.evaluators import retrieval
from harness.evaluators.answer import is_right
from harness.runner.importing.imported_run import ImportRequest
from harness.runner.importing.importer import ImportResult, import_run
from harness.statistics.cost import query_scores, run_costs
from harness.statistics.prices import load_prices
from harness.statistics.run_frame import Frame
from harness.store import RunDir, find_runs
from harness.store.index_dir import Corpora, corpus_digest

Import = Callable[..., ImportResult]
Row = dict[str, Any]

DEMO = load_dataset(demo.SPEC)
FIRST, SECOND, THIRD = DEMO.queries[:3]
GPT_4O_MINI = "trungviet17/gpt-4o-mini_k5_part2of6"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def take(tmp_path: Path, results: Path) -> Import:
    """take([row, ...], label="theirs", model=...): import these rows as answers to the demo."""

    def make(rows: list[Row], **request: Any) -> ImportResult:
        path = tmp_path / "answers.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        dataset = None if request.get("like") else "demo"
        options = {"dataset": dataset, "only_answered": dataset is not None, **request}
        return import_run(ImportRequest(**{"file": path, "label": "theirs", **options}), results)

    return make


def answer(number: int, **more: Any) -> Row:
    return {"query_id": DEMO.queries[number].query_id, "answer": f"answer {number}", **more}


def measured(run: RunDir) -> dict[str, tuple[float | None, int, int]]:
    """Measure -> mean, n_scored, n_expected, over all types."""
    frame, prices = Frame.of(run), load_prices()
    used = query_scores(frame, run.records().values(), run.manifest().identity["models"], prices)
    rows = run_costs(run, frame, list(run.iter_records()), used, prices)
    return {row.measure: (row.mean, row.n_scored, row.n_expected) for row in rows if row.query_type == "overall"}


def test_the_run_answers_the_queries_of_the_file_in_data_set_order(take: Import, results: Path) -> None:
    result = take([answer(2), answer(0, contexts=["seen"])])
    run = result.run
    assert (result.n_answers, result.n_failed, result.was_complete) == (2, 0, False)
    assert find_runs(results, ["demo--theirs"])[0].path == run.path
    assert [row.query.query_id for row in run.sample()] == [FIRST.query_id, THIRD.query_id]
    assert [row.reference for row in run.sample()] == [DEMO.references[0], DEMO.references[2]]
    first = run.records()[FIRST.query_id, 0]
    assert first.prediction is not None
    assert first.prediction.answer == "answer 0"
    assert [context.text for context in first.prediction.contexts] == ["seen"]
    assert (first.attempt, first.status) == (1, "ok")
    done = known(run.done())
    assert (done.n_expected, done.n_ok, done.n_error) == (2, 2, 0)
    assert run.index() is None
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in run.path.iterdir()}
    again = take([answer(2), answer(0, contexts=["seen"])])
    assert (again.was_complete, again.run.path) == (True, run.path)
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in run.path.iterdir()} == before


def test_the_manifest_says_what_the_run_is(take: Import) -> None:
    manifest = take([answer(0)], model="openai/gpt-4o-mini", evaluators=("answer",)).run.manifest()
    assert manifest.is_imported
    assert manifest.identity["system"] == {"name": "theirs", "version": "imported", "index": {}, "answer": {}}
    assert manifest.identity["models"] == {"generator": {"provider": "openai", "model": "gpt-4o-mini"}}
    assert manifest.config["evaluators"] == ["answer"]
    assert manifest.config["imported"]["file"] == "answers.jsonl"
    assert manifest.dataset["type_mix"] == DEMO.type_mix
    assert (manifest.dataset["n_queries"], manifest.dataset["n_documents"]) == (1, len(DEMO.documents))
    said = {key: manifest.dataset[key] for key in ("primary_measure", "cluster_by")}
    assert said == {"primary_measure": "accuracy", "cluster_by": "document"}
    assert manifest.identity["dataset"]["digest"] == manifest.dataset["digest"] != DEMO.digest
    assert (manifest.index_id, manifest.machine) == ("", {})
    assert manifest.notes[1].startswith("Imported from answers.jsonl (sha256 ")
    assert f"The file answers 1 of {len(DEMO.queries)} queries of the data set demo" in manifest.notes[2]
    assert all(len(note) <= 160 for note in manifest.notes)


def test_the_run_id_is_that_of_the_answers_and_of_nothing_else(take: Import) -> None:
    rows = [answer(0), answer(1)]
    base = take(rows).run.run_id
    same = [answer(1, note="x"), {**answer(0, repeat=0), "query": FIRST.text}]
    assert take(same, evaluators=("answer",)).run.run_id == base
    others = [take(rows, **change).run.run_id for change in ({"label": "other"}, {"model": "openai/gpt-4o-mini"})]
    others += [take([answer(0), answer(1, **more)]).run.run_id for more in ({"answer": "x"}, {"latency_s": 1.0})]
    others += [take([*rows, answer(2)]).run.run_id]
    assert len({base, *others}) == 1 + len(others)


def test_a_stopped_import_can_be_resumed(take: Import, results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, written, append = [answer(0), answer(1), answer(2)], [0], RunDir.append_record

    def full(run: RunDir, record: RunRecord) -> None:
        if written[0] == 2:
            raise StoreError("no space left on the disk")
        written[0] += 1
        append(run, record)

    with monkeypatch.context() as patch:
        patch.setattr(RunDir, "append_record", full)
        with pytest.raises(StoreError):
            take(rows)
    (run,) = find_runs(results, [])
    assert run.done() is None
    records = run.path / "records.jsonl"
    os.truncate(records, records.stat().st_size - 9)
    assert take(rows).was_complete is False
    assert [record.query_id for record in run.iter_records()] == [FIRST.query_id, SECOND.query_id, THIRD.query_id]
    assert run.done() is not None


def test_nothing_is_written_where_something_is_wrong(take: Import, results: Path) -> None:
    for rows in (
        [answer(0), answer(1, latency_s=-1)],
        [answer(0), answer(0)],
        [answer(0), {"query": "?", "answer": ""}],
    ):
        with pytest.raises(DataError):
            take(rows)
    assert not results.exists()


BLANK = ["", " \n\t", "**", "```json\n```", "<p> </p>&nbsp;", "- ", "<!-- none -->", "\u200b", '{"answer": ""}']


def test_blank_answers_are_failures(take: Import) -> None:
    result = take([*(answer(number, answer=blank) for number, blank in enumerate(BLANK)), answer(len(BLANK))])
    failures = [record.failure for record in result.run.records().values()]
    assert [failure.kind if failure else "" for failure in failures] == ["NoAnswer"] * len(BLANK) + [""]


def test_an_answer_that_is_missing_is_a_failure_and_stays_in_the_denominator(take: Import) -> None:
    lost = [answer(0, answer=None), {"query_id": SECOND.query_id}, answer(2, error="  "), answer(3, answer="")]
    result = take([*lost, answer(4, error="rate limit\n" + "x" * 9999), answer(5)])
    records = list(result.run.records().values())
    assert (result.n_answers, result.n_failed) == (6, 4)
    assert [record.failure.kind if record.failure else "" for record in records] == [
        *("NoAnswer", "NoAnswer", "", "NoAnswer", "Imported", "")
    ]
    failure = known(records[4].failure)
    assert failure.message.startswith("rate limit x")
    assert len(failure.message) == 2000
    assert len(result.run.sample()) == 6
    done = known(result.run.done())
    assert (done.n_expected, done.n_ok, done.n_error) == (6, 2, 4)


ERRORS = [
    "HTTP 503 Service Unavailable",
    "HTTP/1.1 429 Too Many Requests",
    "HTTP error 500: Internal Server Error",
    "502 Bad Gateway",
    "503 Server Error: Service Unavailable for url: http://localhost/v1",
    "Error code: 429 - {'error': {'message': 'Rate limit reached', 'type': 'tokens'}}",
    "Error 500",
    "status code 401: invalid key",
    "openai.RateLimitError: Error code: 429",
    "APIConnectionError: Connection error.",
    '{"error": {"message": "model is overloaded"}}',
    "<html>\n<head><title>502 Bad Gateway</title></head>\n<body></body></html>",
]


def test_answers_that_are_error_messages_of_a_server_failed_with_them(take: Import) -> None:
    result = take([*(answer(number, answer=said) for number, said in enumerate(ERRORS)), answer(len(ERRORS))])
    *failed, answered = result.run.records().values()
    found = [(one.status, one.failure and one.failure.kind, one.failure and one.failure.message) for one in failed]
    assert found == [("error", "Imported", " ".join(message.split())) for message in ERRORS]
    assert (answered.status, result.n_failed) == ("ok", len(ERRORS))
    assert sum(f"count as failed: {len(ERRORS)}" in note for note in result.notes) == 1


ANSWERS = [
    "HTTP 404 is returned when a page is missing.",
    "The server answers with HTTP 503 Service Unavailable.",
    "500 people",
    "429 requests a minute",
    "Error codes are listed in passage 1.",
    "502",
    "0",
    "?",
    "\u2713",
    "Error code: 429 - the limit of the plan was reached. " + "It is raised on request. " * 30,
]


def test_answers_about_errors_or_numbers_or_of_one_sign_are_answers(take: Import) -> None:
    records = take([answer(number, answer=said) for number, said in enumerate(ANSWERS)]).run.records().values()
    assert [record.prediction and record.prediction.answer for record in records] == ANSWERS


def test_an_error_message_that_was_asked_for_is_an_answer(take: Import, tmp_path: Path) -> None:
    docs, asked = tmp_path / "docs", tmp_path / "asked.jsonl"
    docs.mkdir()
    (docs / "limits.md").write_text("Above the limit the server says: 429 Too Many Requests.")
    asked.write_text(json.dumps({"question": "What does it say?", "answers": ["429 Too Many Requests"]}))
    row = {"query": "What does it say?", "answer": "HTTP 429 Too Many Requests"}
    (record,) = take([row], dataset=None, docs=docs, questions=asked).run.records().values()
    assert record.status == "ok"


USED: list[tuple[Row, Usage]] = [
    ({}, Usage(unmetered_calls=1)),
    ({"model_calls": 3}, Usage(calls=3, unmetered_calls=3)),
    ({"model_calls": 0}, Usage()),
    ({"input_tokens": 10}, Usage(input_tokens=10, unmetered_calls=1)),
    ({"input_tokens": 0, "output_tokens": 0}, Usage(unmetered_calls=1)),
    ({"input_tokens": 10, "output_tokens": 2}, Usage(input_tokens=10, output_tokens=2)),
    (
        {"input_tokens": 10, "output_tokens": 2, "cached_tokens": 5, "model_calls": 2},
        Usage(calls=2, input_tokens=10, output_tokens=2, cached_tokens=5),
    ),
]


def test_tokens_and_calls_are_what_the_file_says_and_what_it_does_not_say_is_unknown(take: Import) -> None:
    rows = [answer(number, **said) for number, (said, _) in enumerate(USED)]
    for given in (rows, [{**row, "answer": None} for row in rows]):
        records = take(given).run.records().values()
        assert [record.cost for record in records] == [
            Cost(wall_s=None, throttled_s=None, usage={"generator": usage}) for _, usage in USED
        ]


def test_tokens_and_a_model_give_dollars_and_seconds_give_latencies(take: Import) -> None:
    used = {"input_tokens": 1_000_000, "output_tokens": 100_000, "latency_s": 2.0}
    found = measured(take([answer(0, **used), answer(1)], model="openai/gpt-4o-mini").run)
    assert found["usd"][0] == pytest.approx(0.21 / 2), "a lower bound: of the other answer nothing is known"
    assert found["usd"][1:] == (1, 2)
    assert found["input_tokens"] == (500_000, 1, 2)
    assert found["model_calls"] == (None, 0, 2)
    assert found["latency_s"] == found["latency_s_p50"] == (2.0, 1, 2)
    assert "throttled_s" not in found
    unpriced = measured(take([answer(0, input_tokens=5, output_tokens=1)]).run)
    assert ("usd" in unpriced, unpriced["input_tokens"]) == (False, (5, 1, 1))
    unknown = measured(take([answer(0), answer(1)], model="openai/gpt-4o-mini").run)
    for name in ("input_tokens", "output_tokens", "cached_tokens", "model_calls", "generator_model_calls", "usd"):
        assert unknown[name] == (None, 0, 2), name
    assert not [name for name in unknown if name.startswith(("latency", "throttled", "stage", "cpu", "index"))]


def test_rows_of_several_repeats_make_one_run(take: Import) -> None:
    run = take([answer(0), answer(0, repeat=1, answer="again"), answer(1)]).run
    assert run.manifest().identity["repeats"] == 2
    assert [(*key, record.status) for key, record in sorted(run.records().items())] == [
        (FIRST.query_id, 0, "ok"),
        (FIRST.query_id, 1, "ok"),
        (SECOND.query_id, 0, "ok"),
        (SECOND.query_id, 1, "error"),
    ]
    done = known(run.done())
    assert (done.n_expected, done.n_ok) == (4, 3)


def test_unknown_queries_left_out_and_half_token_counts_are_noted(take: Import) -> None:
    rows = [answer(0, output_tokens=4), {"query": "What is not asked?", "answer": "a"}]
    with pytest.raises(DataError, match="--skip-unknown"):
        take(rows)
    notes = take(rows, skip_unknown=True).notes
    assert "Rows skipped because their query is not in the data set demo: 1." in notes
    assert notes[-1].endswith("which count as unknown: 1.")


def test_a_file_of_gold_answers_that_is_taken_for_answers_is_noted(take: Import) -> None:
    gold = [{"query": DEMO.queries[n].text, "answer": DEMO.references[n].answers[0]} for n in range(6)]
    assert any("All 6 answers are word for word gold answers" in note for note in take(gold).notes)
    assert not any("gold answers" in note for note in take([*gold[:5], answer(5)]).notes)


def test_doc_ids_that_the_corpus_lacks_are_kept_and_counted(take: Import) -> None:
    known = DEMO.documents[0].doc_id
    result = take([answer(0, contexts=[{"text": "t", "doc_ids": [known, "x"]}, {"text": "u", "doc_id": "y"}])])
    (record,) = result.run.records().values()
    assert record.prediction is not None
    assert [context.doc_ids for context in record.prediction.contexts] == [(known, "x"), ("y",)]
    assert result.notes[-1].endswith("not in the corpus, and count as wrong: 2.")


FOUND: list[tuple[list[Row], list[float | None]]] = [
    ([{"contexts": []}, {"contexts": []}], [0.0, 0.0]),
    ([{}, {}], [None, None]),
    ([{"contexts": []}, {}], [0.0, None]),
    ([{"contexts": ["names no document"]}, {"contexts": []}], [None, None]),
    ([{"contexts": [{"text": "t", "doc_id": "another"}]}, {"contexts": []}], [0.0, 0.0]),
]


def test_contexts_that_are_empty_score_zero_and_those_that_are_not_stated_are_unknown(take: Import) -> None:
    known = [number for number, one in enumerate(DEMO.references) if any(gold.doc_id for gold in one.evidence)][:2]
    for rows, hits in FOUND:
        result = take([answer(number, **row) for number, row in zip(known, rows, strict=True)])
        scores = scores_of_run(result.run, build_scorer(retrieval.SPEC))
        found = {score.query_id: score.value for score in scores if score.measure == "Hit@10"}
        assert [found[DEMO.queries[number].query_id] for number in known] == hits


def test_reasoning_is_removed_from_answers_and_counted_and_reasoning_alone_is_no_answer(take: Import) -> None:
    rows = ["<think>no</think>Yes", "no</think> Yes", "Yes", "<think>perhaps"]
    result = take([answer(number, answer=text) for number, text in enumerate(rows)])
    records = list(result.run.records().values())
    assert [record.prediction.answer if record.prediction else None for record in records] == ["Yes"] * 3 + [None]
    assert [len(record.prediction.trace) if record.prediction else 0 for record in records] == [1, 1, 0, 0]
    assert records[3].failure is not None
    assert records[3].failure.kind == "NoAnswer"
    assert result.notes[-1].endswith("kept in the trace: 2.")


def test_like_a_run_shares_its_sample_so_that_every_query_pairs(take: Import) -> None:
    other = take([answer(0), answer(1), answer(2)], label="other").run
    result = take([answer(1), answer(5), answer(6)], like=other)
    mine, theirs = result.run.manifest(), other.manifest()
    assert mine.identity["dataset"] == theirs.identity["dataset"]
    assert mine.dataset == theirs.dataset
    assert result.run.sample() == other.sample()
    done = known(result.run.done())
    assert (done.n_expected, done.n_ok) == (3, 1)
    assert any(f"answers 1 of 3 queries of the run {other.run_id}" in note for note in result.notes)
    assert f"Rows skipped because their query is not in the run {other.run_id}: 2." in result.notes


def test_without_being_asked_the_sample_is_the_data_set_and_not_the_file(take: Import) -> None:
    result = take([answer(1)], only_answered=False)
    assert len(result.run.sample()) == len(DEMO.queries)
    assert any("--only-answered" in note for note in result.notes)
    refusals: list[tuple[list[Row], dict[str, Any], str]] = [
        ([answer(1)], {"only_answered": True}, "--only-answered"),
        ([answer(1)], {"dataset": "ms_marco"}, "the dataset 'demo', not 'ms_marco'"),
        ([answer(1)], {"subset": "v2"}, "the subset 'default', not 'v2'"),
        ([{"query": "Not asked?", "answer": ""}], {}, "1 of 1 rows"),
    ]
    for rows, request, reason in refusals:
        with pytest.raises(HarnessError, match=reason):
            take(rows, like=result.run, **request)


def test_like_a_run_the_documents_are_those_that_it_searched(take: Import, results: Path) -> None:
    other = take([answer(0)], label="other").run
    manifest = other.manifest()
    searched = corpus_digest(DEMO.documents[:1])
    Corpora(results).save(searched, DEMO.documents[:1])
    cited = {**manifest.dataset, "corpus": "cited", "corpus_digest": searched}
    like = RunDir.create(
        results, manifest.model_copy(update={"run_id": "cited", "dataset": cited}), other.sample()
    )
    contexts = [{"text": "t", "doc_ids": [document.doc_id for document in DEMO.documents[:3]]}]
    assert take([answer(0, contexts=contexts)], like=like).notes[-1].endswith("and count as wrong: 2.")
    assert len(take([answer(0, contexts=contexts)], like=other).notes) == 2


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"label": "../up"}, "cannot be part of a run id"),
    ({"label": "Naive"}, "cannot be part"),
    ({"label": ""}, "cannot be part"),
    ({"label": "x" * 65}, "cannot be part"),
    ({"label": "a\n"}, "cannot be part"),
    ({"model": "gpt-4o-mini"}, "write PROVIDER/NAME"),
    ({"model": "none/x"}, "write PROVIDER/NAME"),
    ({"model": "openai/"}, "write PROVIDER/NAME"),
    ({"evaluators": ("anwser",)}, "did you mean 'answer'?"),
    ({"dataset": "dmeo"}, "did you mean 'demo'?"),
    ({"dataset": None}, "--dataset NAME"),
    ({"subset": "v3"}, "has no subset 'v3'"),
]


def test_a_word_that_cannot_be_is_one_line_and_nothing_is_written(take: Import, results: Path) -> None:
    for request, words in REFUSED:
        with pytest.raises(HarnessError, match=re.escape(words)):
            take([answer(0)], **request)
    assert not results.exists()


@pytest.mark.slow
def test_recorded_answers_become_a_run(data_dir: Path, results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_HARNESS_DATA", str(data_dir))
    request = ImportRequest(
        file=data_dir / "multihop_rag" / "recorded_answers.jsonl",
        label="gpt-4o-mini-agent",
        dataset="multihop_rag",
        fields={"answer": "model_answer"},
        where={"run": GPT_4O_MINI},
        model="openai/gpt-4o-mini",
        only_answered=True,
    )
    result = import_run(request, results)
    rows, records = result.run.sample(), result.run.records()
    assert (len(rows), len(records), result.n_failed) == (426, 426, 0)
    assert any("answers 426 of 2,556 queries of the data set multihop_rag" in note for note in result.notes)
    plain, ours = Counter[str](), Counter[str]()
    for row in rows:
        prediction = known(records[row.query.query_id, 0].prediction)
        assert prediction.answer is not None
        (gold,) = row.reference.answers
        given = prediction.answer.lower().strip().removesuffix(".")
        plain[row.reference.query_type] += given == gold.lower().strip().removesuffix(".")
        ours[row.reference.query_type] += is_right(prediction.answer, [gold])
    assert plain == {"inference": 116, "comparison": 99, "temporal": 47, "null": 45}
    assert ours == {**plain, "comparison": 100}
    whole = load_dataset(multihop_rag.SPEC)
    order = {query.query_id: number for number, query in enumerate(whole.queries)}
    numbers = [order[row.query.query_id] for row in rows]
    assert numbers == sorted(numbers)
    # The column is known without --field, so that only the rows of several runs are refused.
    for fields in ({}, {"answer": "model_answer"}):
        with pytest.raises(DataError, match="both answer"):
            import_run(ImportRequest(request.file, "x", "multihop_rag", fields=fields), results)
