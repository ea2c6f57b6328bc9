"""Result files of lm-eval, inspect_ai and promptfoo become runs that are paired by sample.

The files of lm-eval 0.4.13 and inspect_ai 0.3.285 were written by these libraries, with scripted models over the
same three questions; those of promptfoo follow its published types.
"""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scoring import build_scorer, evaluation, scores_of_run

import harness.api as rag
from harness.core.errors import DataError
from harness.evaluators import answer, given_score
from harness.runner.importing.imported_run import ImportRequest
from harness.runner.importing.importer import import_run
from harness.store import RunDir

FILES = Path(__file__).parent / "result_files"
FORMS = {
    "inspect_ai": ("inspect_{}.eval", {}),
    "lm-eval": ("lm_eval_{}.jsonl", {"filter": "strict"}),
    "promptfoo": ("promptfoo_{}.json", {}),
}
SAID = {"a": ["Marta Lind", "twelve", "in 1904"], "b": ["Marta Lind", "four", "I do not know"]}


def imported(results: Path, path: Path, label: str = "theirs", **more: Any) -> RunDir:
    return import_run(ImportRequest(file=path, label=label, **more), results).run


@pytest.mark.parametrize("form", FORMS)
def test_two_result_files_over_the_same_questions_are_compared_query_by_query(tmp_path: Path, form: str) -> None:
    name, where = FORMS[form]
    runs = [imported(tmp_path, FILES / name.format(label), label, where=where) for label in SAID]
    for run, said in zip(runs, SAID.values(), strict=True):
        assert [row.query.text for row in run.sample()] == [
            *("Who runs the bakery on the harbour?", "How many boats lie in the harbour?"),
            "When was the lighthouse built?",
        ]
        assert [row.reference.answers for row in run.sample()] == [("Marta Lind",), ("twelve",), ("1904",)]
        records = list(run.records().values())
        assert [record.prediction and record.prediction.answer for record in records] == said
        for spec in (answer.SPEC, given_score.SPEC):
            scorer = build_scorer(spec)
            names = tuple(one.name for one in scorer.measures)
            run.write_scores(
                evaluation(spec.name).model_copy(update={"measures": names}), scores_of_run(run, scorer)
            )
        assert run.manifest().config["evaluators"][-1] == "given_score"
    usage = next(iter(runs[0].records().values())).cost.usage["generator"]
    assert usage.has_tokens == (form != "lm-eval"), "what a file does not say is unknown"
    by = rag.compare(rag.load(tmp_path), ["accuracy", "given_score"]).set_index("measure")
    assert list(by["n"]) == [3, 3] and by["difference"]["accuracy"] == pytest.approx(1 / 3)
    own = 2 / 3 if "inspect" in form else 1 / 3  # Its scorer takes an answer that includes the target.
    assert by["difference"]["given_score"] == pytest.approx(own)


def test_repeats_models_choices_and_failures_of_a_result_file(tmp_path: Path) -> None:
    chosen = imported(tmp_path, FILES / "lm_eval_choices.jsonl")
    offered = {"Marta Lind", "Ivo Brandt", "Selma Aas"}
    first = chosen.records()["0", 0].prediction
    assert first and first.answer in offered and chosen.sample()[2].reference.answers == ("1904",)
    log = json.loads((FILES / "inspect_a.json").read_text())
    again = [{**sample, "epoch": 2, "error": {"message": "it fell over"}} for sample in log["samples"]]
    path = tmp_path / "log.json"
    path.write_text(json.dumps({**log, "samples": [*log["samples"], *again]}))
    run = imported(tmp_path, path)
    assert len(run.sample()) == 3
    assert {key[1]: record.status for key, record in run.records().items()} == {0: "ok", 1: "error"}
    both = json.loads((FILES / "promptfoo_a.json").read_text())
    both["results"]["results"] += json.loads((FILES / "promptfoo_b.json").read_text())["results"]["results"]
    path.write_text(json.dumps(both))
    with pytest.raises(DataError, match="--where"):
        imported(tmp_path, path, "b")
    run = imported(tmp_path, path, "b", where={"provider.id": "openai:model-b"})
    assert [one.prediction and one.prediction.answer for one in run.records().values()] == SAID["b"]


PROMPTFOO = (FILES / "promptfoo_a.json").read_text()
MEANS_OF_LM_EVAL = {"results": {"harbour": {"exact_match,none": 0.5}}, "configs": {}, "n-shot": {}}


def _unpacked(change: Callable[[dict[str, bytes]], object]) -> Callable[[Path], object]:
    """An `.eval` log with other entries."""

    def write(path: Path) -> None:
        log = json.loads((FILES / "inspect_a.json").read_text())
        samples = {f"samples/{one['id']}_epoch_1.json": json.dumps(one).encode() for one in log.pop("samples")}
        entries = {**samples, "header.json": json.dumps(log).encode()}
        change(entries)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in entries.items():
                archive.writestr(name, content)

    return write


def _with_version(entries: dict[str, bytes]) -> None:
    entries["header.json"] = entries["header.json"].replace(b'"version": 2', b'"version": 3')


def _broken(path: Path) -> None:
    content = bytearray((FILES / "inspect_a.eval").read_bytes())
    at = content.index(b"samples/h0") + 100
    content[at : at + 20] = bytes(20)
    path.write_bytes(content)


@pytest.mark.parametrize(
    "write",
    [
        _unpacked(_with_version),
        _unpacked(lambda entries: entries.pop("header.json")),
        _unpacked(lambda entries: [entries.pop(name) for name in [*entries] if name.startswith("samples")]),
        _unpacked(lambda entries: entries.update({"samples/x_epoch_1.json": b"[" * 100_000})),
        _unpacked(lambda entries: entries.update({"samples/x_epoch_1.json": b" " * 70_000_000})),
        _unpacked(lambda entries: entries.update({"samples/x_epoch_1.json": b"[1]"})),
        lambda path: path.write_bytes((FILES / "inspect_a.eval").read_bytes()[:-700]),
        _broken,
        lambda path: path.write_text(PROMPTFOO.replace('"version": 3', '"version": 9')),
        lambda path: path.write_text(json.dumps(MEANS_OF_LM_EVAL)),
    ],
)
def test_damaged_or_bloated_result_files_are_one_line(tmp_path: Path, write: Callable[[Path], object]) -> None:
    path = tmp_path / "log.eval"
    write(path)
    with pytest.raises(DataError) as caught:
        imported(tmp_path / "results", path)
    assert "\n" not in str(caught.value) and not (tmp_path / "results").exists()
