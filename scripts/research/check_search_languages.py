"""Does BM25 find the same fact in every language?

40 one-sentence documents with a question each, in Chinese, Japanese, Korean, Thai, German and English, are side by
side in facts_in_six_languages.csv. Five documents share the subject of a question and eight share its city, so a
search must use both. Recall@k is the share of questions whose document is among the k best.

Example:
  .venv/bin/python scripts/research/check_search_languages.py
"""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path

from common import command_line, print_table

from harness.core.records import Document
from systems.common.chunking import ChunkParams, iter_chunks
from systems.common.word_index import WordIndex

FACTS = Path(__file__).with_name("facts_in_six_languages.csv")
LANGUAGES = {"zh": "Chinese", "ja": "Japanese", "ko": "Korean", "th": "Thai", "de": "German", "en": "English"}
DEPTHS = (1, 3, 5)


def recalls(language: str) -> list[float]:
    """Recall@k in one language for every k of `DEPTHS`."""
    with FACTS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    documents = [Document(doc_id=str(at), text=row[f"{language}_fact"]) for at, row in enumerate(rows)]
    chunks = list(iter_chunks(documents, ChunkParams()))
    with tempfile.TemporaryDirectory() as folder:
        WordIndex.create(Path(folder) / "words", chunks, [chunk.text for chunk in chunks])
        index = WordIndex.open(Path(folder) / "words")
        found = [index.search(row[f"{language}_question"], max(DEPTHS)) for row in rows]
        index.close()
    ids = [[context.doc_ids[0] for context in contexts] for contexts in found]
    return [sum(str(at) in one[:k] for at, one in enumerate(ids)) / len(rows) for k in DEPTHS]


def main() -> None:
    """Print the table of docs/your-documents.md."""
    command_line(__doc__).parse_args()
    rows = [[name, *(f"{recall:.2f}" for recall in recalls(code))] for code, name in LANGUAGES.items()]
    print_table(["language", *(f"recall@{k}" for k in DEPTHS)], rows)


if __name__ == "__main__":
    main()
