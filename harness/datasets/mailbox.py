"""The mailbox: 35 mails of an invented engineering project and 24 questions, our own. It needs no data directory.

A stand-in for the mails of RAG-Eval (Akindele et al. 2025), which are not public. The mails are .eml files, read
as those of any folder are.
"""

from __future__ import annotations

from harness.datasets.demo import shipped_file
from harness.datasets.folder.dataset import FilesParams
from harness.datasets.folder.dataset import load as load_folder
from harness.protocols import DatasetSpec, RawDataset, no_progress


def load(subset: str) -> RawDataset:
    questions = shipped_file("mailbox", "questions.jsonl")
    params = FilesParams(path=questions.with_name("mails"), questions=questions)
    return load_folder(subset, params, no_progress)


SPEC = DatasetSpec(
    name="mailbox",
    summary="our own mails of an invented project, shipped with the harness; for index.schema=emails.yaml",
    load=load,
    primary_measure="accuracy",
)
