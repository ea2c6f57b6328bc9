"""The data set `files`: a folder of documents and a file of questions about them."""

import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import Field

from harness.core.bounded_files import without_home
from harness.core.errors import DataError
from harness.datasets.folder.file_listing import check_file, check_folder
from harness.datasets.folder.reading import read_folder
from harness.datasets.judged.beir import is_beir
from harness.datasets.question_files import QuestionSet, read_questions
from harness.datasets.sampling import Dataset, select
from harness.protocols import DatasetSpec, Params, RawDataset, ReadingProgress


class FilesParams(Params):
    """The folder, the question file, and files to include."""

    path: Path
    questions: Path | None = None
    fields: dict[str, str] = Field(default_factory=dict)
    """Field of a question -> column of the question file (`--field`)."""
    include: tuple[str, ...] = ()
    """Patterns, as in .gitignore, of ignored or secret files to read nevertheless (`--include`)."""


def load(_subset: str, params: FilesParams, progress: ReadingProgress) -> RawDataset:
    """Load all documents and questions. Without a question file, a DataError says how to create one."""
    if params.questions is None:
        check_documents(params.path)
        shown, path = without_home(str(params.path)), shlex.quote(str(params.path))
        fix = f"write some with `rag-harness questions {path}`, then add --questions FILE; "
        fix += f"`rag-harness plan --docs {path}` shows what can be read"
        raise DataError(f"no question file given for the documents in {shown}", fix)
    check_file(params.questions)  # Fail before reading thousands of documents.
    corpus = read_folder(params.path, progress, params.include, params.questions)
    skipped = {one.path: one.why for one in corpus.skipped}
    asked = read_questions(params.questions, corpus.documents, skipped, params.fields)
    # The terminal shows the first notes only.
    notes = sorted((*corpus.notes, *asked.notes), key=lambda note: not note.startswith("warning:"))
    raw = _asked_of(asked, params.path.resolve().name)
    return replace(raw, documents=corpus.documents, notes=tuple(notes), skipped=corpus.listed)


def questions_alone(path: Path, title: str, fields: Mapping[str, str]) -> Dataset:
    check_file(path)
    note = "questions without documents: answers are scored, and retrieval only where the contexts are known"
    raw = replace(_asked_of(read_questions(path, (), fields=fields), title), notes=(note,))
    return select(SPEC, raw, subset=SPEC.subsets[0], sample=None, corpus="full", needs_documents=False)


def _asked_of(asked: QuestionSet, title: str) -> RawDataset:
    return RawDataset(
        documents=(),
        rows=asked.rows,
        notes=asked.notes,
        title=title,
        answer_style="sentence" if asked.are_sentences else None,
        primary_measure="token_f1" if asked.are_sentences else "",
    )


def check_documents(folder: Path) -> None:
    """DataError: there is no such folder, or it is a data set of another kind."""
    check_folder(folder)
    if is_beir(folder):
        raise DataError(f"{without_home(str(folder))} is a data set in BEIR format", "add --dataset beir")


SPEC = DatasetSpec(
    name="files",
    summary="your documents in a folder, and questions about them: --docs FOLDER --questions FILE",
    load=load,
    params=FilesParams,
    primary_measure="accuracy",
)
