"""Warns if the documents are mostly not in English, and an embedder or the index of a system needs English."""

from collections.abc import Iterator, Sequence
from importlib.util import find_spec

from harness.core.errors import install
from harness.core.languages import UNKNOWN_LANGUAGE, languages_of
from harness.models.providers import reads_english_only
from harness.runner.plan import Cell

MULTILINGUAL = "ibm-granite/granite-embedding-107m-multilingual"
"""A small embedder that needs no instruction in front of a text, for 12 languages; Apache-2.0."""
_CHANGE = f"--set models.embedder.provider=sentence-transformers --set models.embedder.model={MULTILINGUAL}"
_PACKAGE = "provider-sentence-transformers"


def language_lines(cells: Sequence[Cell]) -> list[str]:
    """One line, or none."""
    reasons = list(dict.fromkeys((*_embedders(cells), *_parts_of_systems(cells))))
    if not reasons:
        return []
    languages = languages_of([document.text for document in cells[0].dataset.documents])
    foreign = {name: n for name, n in languages.items() if name not in {UNKNOWN_LANGUAGE, "English"}}
    n, known = sum(foreign.values()), sum(foreign.values()) + languages.get("English", 0)
    if not n or 2 * n < known:
        return []
    shown = ", ".join(f"{name} {count:,}" for name, count in list(foreign.items())[:5])
    return [
        f"warning: {n:,} of {known:,} documents whose language is recognised are not English ({shown}). "
        f"For English only: {'; '.join(reasons)}. BM25 reads all languages."
    ]


def _embedders(cells: Sequence[Cell]) -> Iterator[str]:
    """The first embedder for English alone, with the way out."""
    needed = "" if find_spec("sentence_transformers") else f"; first: {install(_PACKAGE)}"
    found = [cell.embedder for cell in cells if cell.embedder and reads_english_only(cell.embedder)]
    for embedder in found[:1]:
        yield (
            f"the embedder {embedder.model or embedder.provider}: use a multilingual one ({_CHANGE}, downloaded "
            f"from the Hugging Face hub{needed})"
        )


def _parts_of_systems(cells: Sequence[Cell]) -> Iterator[str]:
    """What systems use for their index, with the names of those systems and the way out."""
    users: dict[str, list[str]] = {}
    for one in (*cells, *(routed for cell in cells for routed in cell.routed)):
        if part := one.spec.english_only(one.index_params):
            users.setdefault(part, []).append(one.spec.name)
    for part, names in users.items():
        what, _, way_out = part.partition(": ")
        yield f"{what} ({', '.join(dict.fromkeys(names))}): {way_out}"
