"""What a report keeps of records is what the run has of them, in whatever order its lines were written."""

import random
from collections.abc import Callable

import pytest

from harness.core.records import Failure, Prediction, RunRecord
from harness.report.records import ANSWERED, ERROR, MISSING, read_briefly
from harness.store import RunDir
from harness.store import compressed_memory as packing

MakeRun = Callable[..., RunDir]


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
    for key, record in counting.items():
        assert (answers[key].attempt, answers[key].status) == (record.attempt, record.status)
        assert run.records_at([briefs.place(key)]) == [record]
        answer = record.prediction.answer if record.prediction else None
        assert briefs.has_answer(key) == (answer is not None)
        assert (briefs[key].answer or "")[:100] == (answer or "")[:100]
        if key[0].startswith("other"):
            assert briefs.status(key) == (ANSWERED if record.status == "ok" else ERROR)
    assert briefs.status(("nobody", 0)) == MISSING
    assert not briefs.is_answered(("nobody", 0))
