"""Is "evidence found" of BM25 on HotpotQA, 2WikiMultihopQA and MuSiQue right? Computed again without the harness.

Reads the files of questions, pools their paragraphs, ranks them with bm25s and its own tokenizer, and counts the
gold facts within the first 4,000 characters of the ten best, without the code of the harness. Paragraphs are whole
here and chunks of 1,200 characters there, so figures agree to about .01 and not exactly.

Examples:
  export RAG_HARNESS_DATA=data
  .venv/bin/python scripts/research/check_multihop_retrieval.py
"""

import gzip
import json
import os
import re
from pathlib import Path
from typing import Any

import bm25s
from common import command_line

FILES = {
    "hotpotqa": "hotpotqa_200.jsonl.gz",
    "2wikimultihopqa": "2wikimultihopqa_164.jsonl.gz",
    "musique": "musique_200.jsonl.gz",
}
SIZE = 4000
TOP_K = 10
Paragraph = tuple[str, str]


def question(row: dict[str, Any]) -> tuple[list[Paragraph], set[str]]:
    """The paragraphs of a question, each with its title, and its gold facts."""
    if "paragraphs" in row:
        given = [(one["title"], one["paragraph_text"].strip(), one["is_supporting"]) for one in row["paragraphs"]]
        return [(title, text) for title, text, _ in given], {text for _, text, is_gold in given if is_gold}
    sentences = {title: [one.strip() for one in said] for title, said in row["context"]}
    paragraphs = [(title, " ".join(filter(None, said))) for title, said in sentences.items()]
    facts = {sentences[title][at] for title, at in row["supporting_facts"] if at < len(sentences[title])}
    return paragraphs, facts


def letters(text: str) -> str:
    """Letters and digits alone."""
    return re.sub(r"[\W_]", "", text.lower())


def evidence_found(rows: list[dict[str, Any]]) -> float:
    """Mean share of a question's facts within the first characters of its passages."""
    asked = [question(row) for row in rows]
    pool = list(dict.fromkeys(one for paragraphs, _ in asked for one in paragraphs if one[1]))
    index = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
    index.index(bm25s.tokenize([text for _, text in pool], show_progress=False), show_progress=False)
    words = bm25s.tokenize([row["question"] for row in rows], show_progress=False)
    best, _ = index.retrieve(words, k=TOP_K, show_progress=False)
    shares = []
    for (_, facts), places in zip(asked, best, strict=True):
        passages = (f"[{rank}] {pool[at][0]} | Wikipedia\n{pool[at][1]}" for rank, at in enumerate(places, 1))
        shown = letters("\n\n".join(passages)[:SIZE])
        shares.append(sum(letters(fact) in shown for fact in facts) / len(facts))
    return sum(shares) / len(shares)


def main() -> None:
    command_line(__doc__).parse_args()
    folder = Path(os.environ.get("RAG_HARNESS_DATA", "data")) / "multihop_wiki"
    for name, file in FILES.items():
        with gzip.open(folder / file, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        print(f"{name}: {evidence_found(rows):.3f} of {len(rows)} questions")


if __name__ == "__main__":
    main()
