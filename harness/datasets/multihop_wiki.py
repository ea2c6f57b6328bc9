"""Questions that need several Wikipedia paragraphs: HotpotQA (Yang et al. 2018), 2WikiMultihopQA (Ho et al. 2020)
and MuSiQue (Trivedi et al. 2022).

Each question comes with its gold paragraphs among distractors. The corpus is pooled: the distinct paragraphs of
all drawn questions, as in the experiments of HippoRAG (Gutierrez et al. 2024), because a run has one index. That
is harder than the distractor setting, where a reader sees the paragraphs of its own question alone.

HotpotQA and 2WikiMultihopQA mark sentences, MuSiQue marks paragraphs. The evidence triples and entity ids of
2WikiMultihopQA and the decomposition of MuSiQue's questions are not read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from harness.core.errors import DataError
from harness.core.records import Evidence
from harness.datasets.hub_rows import HubTable, Pool, PooledParams, load_rows
from harness.datasets.row_fields import FIX, FileEntry, dataset_row
from harness.protocols import DatasetSpec, RawDataset, ReadingProgress

_METADATA = {"source": "Wikipedia"}


class _Part(NamedTuple):
    file: str
    """The original file in the data directory."""
    size: int
    """Published number of questions."""
    sample: str = ""
    """A file with some of its rows, read if the original is missing."""


class _Paragraph(NamedTuple):
    title: str
    text: str


@dataclass(frozen=True)
class _Question:
    """A row of any of the sets."""

    query_type: str
    answers: tuple[str, ...]
    paragraphs: Sequence[_Paragraph]
    facts: Sequence[tuple[_Paragraph, str]]
    outside: int = 0
    """Number of gold sentences that their paragraph does not have."""


def build(entries: Sequence[FileEntry], read: Callable[[FileEntry], _Question]) -> RawDataset:
    """Build a data set of rows: one document for each distinct paragraph, named after its title. Questions that
    their own paragraphs do not answer (in MuSiQue-Full) are left out: the pool may have the missing paragraph.
    """
    pool = Pool()
    rows = []
    unanswerable = outside = 0
    for entry in entries:
        if entry.fields.get("answerable", True) is False:
            unanswerable += 1
            continue
        question = read(entry)
        outside += question.outside
        ids = {}
        for paragraph in question.paragraphs:
            title, text = paragraph
            ids[paragraph] = pool.add(paragraph, partial(_ids, title), text, title=title, metadata=_METADATA)
        facts = dict.fromkeys(Evidence(doc_id=ids[paragraph], fact=fact) for paragraph, fact in question.facts)
        query_id, text = entry.text("_id" if "_id" in entry.fields else "id"), entry.text("question").strip()
        rows.append(dataset_row(query_id, text, question.query_type, question.answers, facts, ids.values()))
    if not rows:
        what = f"{entries[0].where}: no row is answerable"
        raise DataError(what, "use the answerable part, such as MuSiQue-Ans")
    notes = []
    if unanswerable:
        notes.append(
            f"{unanswerable:,} of {len(entries):,} questions left out: marked as unanswerable from their own "
            "paragraphs, which says nothing about the pool"
        )
    if outside:
        notes.append(f"{outside:,} gold facts left out: their paragraph does not have the sentence that they name")
    return RawDataset(documents=tuple(pool.documents.values()), rows=tuple(rows), notes=tuple(notes))


def _ids(title: str, digest: str) -> tuple[str, ...]:
    # Several paragraphs of an article share its title in MuSiQue.
    return title, f"{title} #{digest[:8]}", f"{title} #{digest}"


def _by_sentence(entry: FileEntry) -> _Question:
    """A row of HotpotQA or 2WikiMultihopQA."""
    paragraphs: dict[str, list[tuple[_Paragraph, list[str]]]] = {}
    for item in _pairs(entry, "context", "title", "sentences"):
        sentences = [sentence.strip() for sentence in item.texts("sentences")]
        paragraph = _Paragraph(item.text("title"), " ".join(filter(None, sentences)))
        paragraphs.setdefault(paragraph.title, []).append((paragraph, sentences))
    facts: list[tuple[_Paragraph, str]] = []
    outside = 0
    for item in _pairs(entry, "supporting_facts", "title", "sent_id"):
        held = paragraphs.get(item.text("title"))
        if held is None:
            what = f"{item.where}: '{item.text('title')}' is no paragraph of the question"
            raise DataError(what, "use the distractor setting, whose paragraphs include the gold ones")
        number = item.whole_number("sent_id")
        # Of several paragraphs of this title, those that have the sentence.
        found = [(one, said[number]) for one, said in held if 0 <= number < len(said) and said[number]]
        facts += found[:1]
        outside += not found
    return _Question(
        query_type=entry.text("type"),
        answers=(entry.text("answer").strip(),),
        paragraphs=[one for held in paragraphs.values() for one, _ in held if one.text],
        facts=facts,
        outside=outside,
    )


def _pairs(entry: FileEntry, name: str, first: str, second: str) -> list[FileEntry]:
    """The pairs in `name`: `[[first, second]]` in the original files, `{first: [], second: []}` on the hub."""
    if isinstance(entry.fields.get(name), Mapping):
        return entry.entry(name).rows(first, second)
    found = []
    for number, pair in enumerate(entry.values(name), start=1):
        where = f"{entry.where}, {name} row {number}"
        if not isinstance(pair, list) or len(pair) != 2:
            raise DataError(f"{where}: expected a pair of {first} and {second}", FIX)
        found.append(FileEntry(where, {first: pair[0], second: pair[1]}))
    return found


def _by_paragraph(entry: FileEntry) -> _Question:
    """A row of MuSiQue."""
    paragraphs, facts = [], []
    for item in entry.entries("paragraphs"):
        paragraph = _Paragraph(item.text("title"), item.text("paragraph_text", blank=True).strip())
        if paragraph.text:
            paragraphs.append(paragraph)
        if paragraph.text and item.truth("is_supporting"):
            facts.append((paragraph, paragraph.text))
    answers = (entry.text("answer"), *(entry.texts("answer_aliases") if "answer_aliases" in entry.fields else ()))
    return _Question(
        query_type=f"{len(facts)}hop",
        answers=tuple(dict.fromkeys(answer.strip() for answer in answers if answer.strip())),
        paragraphs=paragraphs,
        facts=facts,
    )


def _spec(
    name: str,
    summary: str,
    repo: str,
    config: str | None,
    parts: Mapping[str, _Part],
    read: Callable[[FileEntry], _Question],
) -> DatasetSpec:
    """`parts`: by split; `read`: a row as a question."""

    def load(split: str, params: PooledParams, _progress: ReadingProgress) -> RawDataset:
        # The original file or the sample of it in the data directory, or else the table on the hub.
        part, table = parts[split], HubTable(repo, config, split)
        drawn = load_rows(part.file, table, params.queries, params.seed, instead=part.sample)
        raw = build(drawn.rows, read)
        notes, differing = [params.note(raw, drawn.whole), *raw.notes], drawn.departures
        if drawn.file == part.sample:
            notes.append(f"{part.sample} is a sample of the {part.size:,} published questions")
        elif drawn.whole != part.size:
            what = f"{drawn.whole:,} questions instead of the published {part.size:,}"
            differing = (f"{what}, so results are not comparable with published figures",)
        return replace(raw, notes=tuple(notes), departures=differing)

    return DatasetSpec(
        name=name,
        summary=f"{summary}, paragraphs pooled (a seeded part of it)",
        load=load,
        params=PooledParams,
        subsets=tuple(parts),
        primary_measure="token_f1",
    )


HOTPOTQA = _spec(
    "hotpotqa",
    "HotpotQA, distractor: bridge and comparison questions over two Wikipedia paragraphs",
    "hotpotqa/hotpot_qa",
    "distractor",
    {
        "validation": _Part("hotpotqa/hotpot_dev_distractor_v1.json", 7405, "multihop_wiki/hotpotqa_200.jsonl"),
        "train": _Part("hotpotqa/hotpot_train_v1.1.json", 90447, "multihop_wiki/hotpotqa_train_100.json"),
    },
    _by_sentence,
)
TWO_WIKI = _spec(
    "2wikimultihopqa",
    "2WikiMultihopQA: comparison, inference and compositional questions over two to four paragraphs",
    "framolfese/2WikiMultihopQA",
    None,
    {
        "validation": _Part("2wikimultihopqa/dev.json", 12576, "multihop_wiki/2wikimultihopqa_164.jsonl"),
        "train": _Part("2wikimultihopqa/train.json", 167454),
    },
    _by_sentence,
)
MUSIQUE = _spec(
    "musique",
    "MuSiQue-Ans: questions of two to four hops over Wikipedia paragraphs",
    "dgslibisey/MuSiQue",
    None,
    {
        "validation": _Part("musique/musique_ans_v1.0_dev.jsonl", 2417, "multihop_wiki/musique_200.jsonl"),
        "train": _Part("musique/musique_ans_v1.0_train.jsonl", 19938, "multihop_wiki/musique_train_100.json"),
    },
    _by_paragraph,
)
