"""Runs with answers and contexts for human labels."""

from collections.abc import Mapping
from pathlib import Path

from paired_runs import ScoredRun, write_run

from harness.core.records import Annotation, Context, Cost, Dimension, Prediction, RunRecord
from harness.store import RunDir
from harness.store.annotations import opened_annotations

HOSTILE = "<img src=x onerror='window.ran=1'></script><script>window.ran=2</script>"
FORMULA = "=HYPERLINK(1)"


def labelled_run(
    results: Path,
    system: str = "naive",
    n: int = 20,
    said: Mapping[str, str] | None = None,
    *,
    is_quoted: bool = False,
) -> RunDir:
    """A finished run of n queries of two types, each with two contexts. `said`: answers by query id; `is_quoted`:
    they are also query, reference and context.
    """
    ids = [f"q{number:03d}" for number in range(n)]
    quoted = said if said and is_quoted else {}
    plan = ScoredRun(
        system=system,
        scores={"m": [1.0] * n},
        types=("one", "other"),
        unfinished=n,
        texts=quoted,
        gold=list(quoted.values()),
    )
    run = write_run(results, plan)
    for query_id in ids:
        answer = (said or {}).get(query_id, f"{system} says {query_id}")
        texts = [f"{place} of {query_id}" for place in ("first", "second")]
        contexts = tuple(Context(text=quoted.get(query_id, text), doc_ids=("d",)) for text in texts)
        run.append_record(record(query_id, Prediction(answer=answer, contexts=contexts)))
    return run


def record(query_id: str, prediction: Prediction) -> RunRecord:
    """An answer."""
    return RunRecord(
        query_id=query_id,
        repeat=0,
        status="ok",
        prediction=prediction,
        cost=Cost(wall_s=1.0),
        attempt=1,
        started_at="2026-11-20T10:00:00+00:00",
    )


def keep_labels(run: RunDir, annotator: str, dimension: Dimension, labels: Mapping[str, int]) -> None:
    """Save an annotator's labels of some queries."""
    run_id = run.manifest().run_id
    with opened_annotations(run, annotator) as log:
        log.append(
            Annotation(query_id=query_id, run=run_id, annotator=annotator, dimension=dimension, label=label)
            for query_id, label in labels.items()
        )
