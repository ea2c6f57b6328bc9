"""A person's review of a question file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.core.current_process import user_name
from harness.core.errors import ConfigError
from harness.extensions.testset.document_loading import DocumentPlace, read_documents
from harness.extensions.testset.review.decisions import Review
from harness.extensions.testset.work_folder import question_file_lock
from harness.runner.progress import Reporter

_LONGEST_NAME = 100


@contextmanager
def open_review(file: Path, by: str | None = None, docs: Path | None = None) -> Iterator[Review]:
    """The review of a file by one person, who has it alone while it is open; `docs`: a folder in which quotes are
    checked.

    `by`: None: the login name. Raises HarnessError if the file or folder is missing, another process has it open,
    or the reviewer is unknown.
    """
    name = user_name() if by is None else by.strip()
    if name is None:
        raise ConfigError("your login name is unknown", "name who reviews: --by NAME")
    if not name or len(name) > _LONGEST_NAME or not name.isprintable() or name.startswith("model:"):
        raise ConfigError(
            f"--by {name[:_LONGEST_NAME]!r} is not a person's name", "name the reviewer, such as --by ada"
        )
    documents = None
    if docs is not None:
        with Reporter().reading() as tell:
            read = read_documents(DocumentPlace(folder=docs), tell)
        documents = {document.doc_id: document for document in read.documents}
    if not file.is_file():
        raise ConfigError(f"no question file {file}", "write one: rag-harness questions FOLDER")
    with question_file_lock(file):
        # A link stays a link: the file it points to is written.
        yield Review(file.resolve() if file.is_symlink() else file, name, documents)
