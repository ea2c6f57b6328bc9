"""Warns if the embedder of a run is known for English alone, and the documents are mostly in other languages."""

from collections.abc import Sequence
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
    embedders = [cell.embedder for cell in cells if cell.embedder and reads_english_only(cell.embedder)]
    if not embedders:
        return []
    languages = languages_of([document.text for document in cells[0].dataset.documents])
    foreign = {name: n for name, n in languages.items() if name not in {UNKNOWN_LANGUAGE, "English"}}
    n, known = sum(foreign.values()), sum(foreign.values()) + languages.get("English", 0)
    if not n or 2 * n < known:
        return []
    shown = ", ".join(f"{name} {count:,}" for name, count in list(foreign.items())[:5])
    needed = "" if find_spec("sentence_transformers") else f"; first: {install(_PACKAGE)}"
    return [
        f"warning: {n:,} of {known:,} documents whose language is recognised are not English ({shown}), and the "
        f"embedder {embedders[0].model or embedders[0].provider} is for English. Use a multilingual one: "
        f"{_CHANGE} (downloaded from the Hugging Face hub{needed}). BM25 reads all languages."
    ]
