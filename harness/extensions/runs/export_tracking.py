"""Runs in MLflow: parameters, means of metrics, the report page, and every record and score."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from harness.api import frames
from harness.api.frames import ReadRun
from harness.core.errors import ConfigError, HarnessError, ServiceUnavailable
from harness.core.hashing import flatten
from harness.core.sanitize import check_url, path_part
from harness.extensions.runs.exported_runs import ExportedRuns, write_lines
from harness.report import write_report

if TYPE_CHECKING:
    from mlflow import MlflowClient

_SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
}
"""Of MLflow, read when it is imported. Without them it reports its use to its makers, tells of each table that it
makes, and waits minutes for a server that is not there."""
_OTHER = re.compile(r"[^\w.\- ]")
_OF_A_MEAN = ("measure", "mean", "ci_low", "ci_high", "n_scored", "n_imputed", "n_failed", "n_expected")
_LONGEST_KEY, _LONGEST_VALUE = 250, 6000
_MOST_PARAMS, _MOST_METRICS = 100, 1000
"""In one request."""


def log_runs(exported: ExportedRuns, out: str) -> None:
    """Add each run to the tracking server `out`, a URI, or to a database file. The experiment is the data set.

    MLflow allows no @ in the name of a metric: nDCG@10 is `nDCG_at_10` there. The artifacts are the report page,
    `means.jsonl` with the names in full, intervals and counts, `records.jsonl` with a row for each record, also of
    a failed query, and `scores.jsonl`. ServiceUnavailable: the server or database does not take them.
    """
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    from mlflow import MlflowClient

    database = None if "://" in out else Path(out).absolute()
    if database is None:
        try:
            check_url(out)
        except ValueError as error:
            fix = "MLflow reads user and password from MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD"
            raise ConfigError(f"--out {error}", fix) from error
    exported.views  # noqa: B018 - a run without scores is refused before anything is written
    with _explained(out), tempfile.TemporaryDirectory() as folder:
        client = MlflowClient(tracking_uri=out if database is None else f"sqlite:///{database}")
        page = write_report(exported.chapters, Path(folder) / "report")
        for read in exported.runs:
            files = Path(folder) / read.run.run_id
            rows = exported.means(read.run.run_id).values()
            means = ({name: getattr(row, name) for name in _OF_A_MEAN} for row in rows)
            write_lines(files / "means.jsonl", means)
            write_lines(files / "records.jsonl", frames.record_rows(read))
            write_lines(files / "scores.jsonl", frames.score_rows(read))
            _log(client, exported, read, _experiment(client, read, database), (page, *sorted(files.iterdir())))


def _experiment(client: MlflowClient, read: ReadRun, database: Path | None) -> str:
    name = f"rag-harness {path_part(str(read.base['dataset'])) or 'data set'}"
    if found := client.get_experiment_by_name(name):
        return str(found.experiment_id)
    # Without a place, the artifacts would go into the current folder.
    place = None if database is None else database.with_name(f"{database.stem}-artifacts").as_uri()
    return str(client.create_experiment(name, artifact_location=place))


def _log(
    client: MlflowClient, exported: ExportedRuns, read: ReadRun, experiment: str, files: tuple[Path, ...]
) -> None:
    from mlflow.entities import Metric, Param

    began = _milliseconds(read.manifest.created_at)
    identity = {key: value for key, value in read.manifest.identity.items() if key != "schema"}
    values = {_key(key): str(value)[:_LONGEST_VALUE] for key, value in flatten(identity).items()}
    means = {_key(name): row.mean for name, row in exported.means(read.run.run_id).items()}
    params = [Param(key, value) for key, value in values.items()]
    metrics = [Metric(key, mean, began, 0) for key, mean in means.items()]
    tags = {"rag_harness.run_id": read.run.run_id, "rag_harness.baseline": read.manifest.baseline}
    run = client.create_run(experiment, start_time=began, run_name=read.label, tags=tags)
    run_id = run.info.run_id
    try:
        for start in range(0, len(params), _MOST_PARAMS):
            client.log_batch(run_id, params=params[start : start + _MOST_PARAMS])
        for start in range(0, len(metrics), _MOST_METRICS):
            client.log_batch(run_id, metrics=metrics[start : start + _MOST_METRICS])
        for file in files:
            client.log_artifact(run_id, str(file))
    except BaseException:
        client.set_terminated(run_id, status="FAILED")
        raise
    client.set_terminated(run_id, status="FINISHED" if read.run.done() else "KILLED")


def _key(name: str) -> str:
    return _OTHER.sub("_", name.replace("@", "_at_"))[:_LONGEST_KEY].strip(". ") or "_"


def _milliseconds(moment: str) -> int:
    try:
        return max(0, int(datetime.fromisoformat(moment).timestamp() * 1000))
    except (ValueError, OverflowError):
        return 0


@contextmanager
def _explained(out: str) -> Iterator[None]:
    """MLflow's errors, and those of its database and requests, as one line."""
    from mlflow.exceptions import MlflowException
    from requests import RequestException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except HarnessError:
        raise
    except (MlflowException, RequestException, SQLAlchemyError, OSError) as error:
        reason = " ".join(str(error).split())[:200]
        fix = "name an MLflow server that runs, or a database file such as mlflow.db"
        raise ServiceUnavailable(f"MLflow cannot write to {out} ({reason})", fix) from error
