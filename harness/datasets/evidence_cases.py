"""1,000 questions with gold sentences, by domain and length of their documents: a stand-in for the data set of
GE-Chat (Da et al. 2025), which has as many cases over ten domains and three lengths.

The cases are questions of MultiHop-RAG, whose gold facts are sentences, and of UDA-QA's `nq` with a short answer,
whose gold sentence is the first one of the gold passage that contains the answer. The query type is
`DOMAIN, LENGTH`: the category of (most of) the articles that a question cites, or `encyclopedia`; and how many
characters all documents that it cites have. The paper counts pages (under 10, to 100, more), which would make all
but a few of these documents short. Every type has equally many cases, as far as it has enough, chosen by the
digest of their ids. The corpus is all cited documents.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain, zip_longest

from harness.core.hashing import digest
from harness.core.records import Evidence
from harness.core.scripts import SENTENCE_END
from harness.datasets import multihop_rag, uda_qa
from harness.protocols import DatasetRow, DatasetSpec, RawDataset

_LONGEST = 600
"""Characters of a gold sentence; a longer one is a table or a list."""


def load(_subset: str) -> RawDataset:
    return build([multihop_rag.load("default"), uda_qa.load("nq")], 1000)


def build(sources: Sequence[RawDataset], cases: int) -> RawDataset:
    """At most `cases` questions of `sources` with gold sentences, and the documents that they cite."""
    documents = {document.doc_id: document for source in sources for document in source.documents}
    by_type: dict[str, list[DatasetRow]] = defaultdict(list)
    for row in chain.from_iterable(source.rows for source in sources):
        gold = row.reference
        sentences = tuple(filter(None, (_sentence(item, gold.answers) for item in gold.evidence)))
        if not sentences:
            continue
        cited = [documents[doc_id] for doc_id in row.doc_ids]
        domains = Counter(document.metadata.get("category") or "encyclopedia" for document in cited)
        length = sum(len(document.text) for document in cited)
        size = "short" if length < 10_000 else "long" if length >= 20_000 else "medium"
        kind = f"{domains.most_common(1)[0][0]}, {size}"
        reference = gold.model_copy(update={"query_type": kind, "evidence": sentences})
        by_type[kind].append(DatasetRow(row.query, reference, row.doc_ids))
    ordered = (sorted(rows, key=lambda row: digest(row.query.query_id)) for _, rows in sorted(by_type.items()))
    # One of each type in turn, until there are enough.
    chosen = [row for turn in zip_longest(*ordered) for row in turn if row is not None][:cases]
    kept = {doc_id for row in chosen for doc_id in row.doc_ids}
    return RawDataset(
        documents=tuple(document for doc_id, document in documents.items() if doc_id in kept),
        rows=tuple(chosen),
        notes=("a stand-in for the data set of GE-Chat, made from MultiHop-RAG and UDA-QA (nq)",),
        departures=tuple(line for source in sources for line in source.departures),
    )


def _sentence(item: Evidence, answers: Sequence[str]) -> Evidence | None:
    """The gold fact, or the first sentence with the short answer if the fact is a passage (then it is an answer
    too); None if that is no sentence.
    """
    if item.fact not in answers:
        return item if 0 < len(item.fact.strip()) <= _LONGEST else None
    short = next((answer for answer in answers if answer != item.fact), None)
    start = 0
    for found in [*SENTENCE_END.finditer(item.fact), None]:
        sentence = item.fact[start : found.start() if found else None].strip()
        if short and short in sentence:
            return item.model_copy(update={"fact": sentence}) if len(sentence) <= _LONGEST else None
        start = found.end() if found else 0
    return None


SPEC = DatasetSpec(
    name="evidence_cases",
    summary="1,000 questions with gold sentences, by domain and length of document (MultiHop-RAG and UDA-QA)",
    load=load,
    primary_measure="evid",
)
