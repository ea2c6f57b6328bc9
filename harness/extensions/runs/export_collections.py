"""Runs as TREC run and qrels files, as a BEIR folder, and as an evaluation data set of ragas.

White space, control characters and % in ids are percent-encoded in TREC and BEIR files, which separate fields by
white space, and so is what makes an id a formula of a spreadsheet; `urllib.parse.unquote` gives the id.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.api.frames import ReadRun
from harness.core.errors import ConfigError, DataError
from harness.core.records import RunRecord
from harness.core.sanitize import without_keys
from harness.extensions.runs.exported_runs import ExportedRuns, scores_by_query, write_lines
from harness.store.index_dir import Corpora

_ENCODED = re.compile(r"[\s%\x00-\x1f\x7f-\x9f]|^[=+@-](?![\d.]*$)")


def write_trec(exported: ExportedRuns, folder: Path) -> None:
    """`qrels.txt`, and `<run>.run` for each run; `<run>.<repeat>.run` for further repeats.

    A document counts at its first rank, as in the metrics by document, and its score is 1/rank. A query that
    failed, or for which no document was named, has no line.
    """
    lines = (f"{query_id} 0 {doc_id} 1\n" for query_id, doc_id in _gold_pairs(exported))
    (folder / "qrels.txt").write_text("".join(lines), encoding="utf-8")
    for run_id, name, rankings in _rankings(exported):
        with (folder / f"{name}.run").open("x", encoding="utf-8") as file:
            for query_id, documents in rankings.items():
                file.writelines(
                    f"{query_id} Q0 {doc_id} {rank} {1 / rank!r} {one_word(run_id)}\n"
                    for rank, doc_id in enumerate(documents, start=1)
                )


def write_beir(exported: ExportedRuns, folder: Path) -> None:
    """`corpus.jsonl`, `queries.jsonl` and `qrels/test.tsv`, and for each run and repeat `results/<run>.json`:
    query -> document -> score, as BEIR evaluates it.
    """
    gold, first = list(_gold_pairs(exported)), exported.runs[0]
    digest = str(first.manifest.dataset.get("corpus_digest"))
    documents = Corpora(exported.originals[first.run.run_id].path.parent).documents(digest)
    if not documents:
        what = f"the documents of {first.run.run_id} are not stored here"
        raise DataError(what, "export it where it was made, or without documents: --to trec")
    corpus = (
        {"_id": one_word(one.doc_id), "title": without_keys(one.title), "text": without_keys(one.text)}
        for one in documents
    )
    write_lines(folder / "corpus.jsonl", corpus)
    rows = {query_id: row for read in exported.runs for query_id, row in read.sample.items()}
    queries = (
        {"_id": one_word(query_id), "text": row.query.text, "metadata": {"answers": row.reference.answers}}
        for query_id, row in rows.items()
    )
    write_lines(folder / "queries.jsonl", queries)
    pairs = (f"{query_id}\t{doc_id}\t1\n" for query_id, doc_id in gold)
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(pairs), encoding="utf-8")
    (folder / "results").mkdir()
    for _, name, rankings in _rankings(exported):
        found = {
            query_id: {doc_id: 1 / rank for rank, doc_id in enumerate(documents, start=1)}
            for query_id, documents in rankings.items()
        }
        with (folder / "results" / f"{name}.json").open("x", encoding="utf-8") as file:
            json.dump(found, file, ensure_ascii=False)


def write_ragas(exported: ExportedRuns, folder: Path) -> None:
    """`<run>.jsonl` for each run: samples of one turn. Fields that ragas does not know, and ignores: `query_id`,
    `repeat`, `status`, `failure` and `scores`. A query that failed has no response.
    """
    for read in exported.runs:
        if not any(_texts(record) for record in read.records):
            raise DataError(f"{read.run.run_id} has no texts of contexts", "leave it out")
        write_lines(folder / f"{read.run.run_id}.jsonl", _samples(read))


def _samples(read: ReadRun) -> Iterator[dict[str, Any]]:
    scores = scores_by_query(read)
    for record in read.records:
        row, prediction, failure = read.sample.get(record.query_id), record.prediction, record.failure
        facts = [one for one in row.reference.evidence if one.fact.strip()] if row else []
        found = {
            "user_input": row.query.text if row else None,
            "response": prediction.answer if prediction else None,
            "retrieved_contexts": _texts(record),
            "retrieved_context_ids": _documents(record) or None,
            "reference": next(iter(row.reference.answers), None) if row else None,
            "reference_contexts": [one.fact for one in facts] or None,
            "reference_context_ids": list(dict.fromkeys(one.doc_id for one in facts if one.doc_id)) or None,
            "query_id": record.query_id,
            "repeat": record.repeat,
            "status": record.status,
            "failure": f"{failure.kind}: {failure.message}" if failure else None,
            "scores": {one.measure: one.value for one in scores.get((record.query_id, record.repeat), [])},
        }
        yield {name: value for name, value in found.items() if value is not None}


def _texts(record: RunRecord) -> list[str] | None:
    """None: the contexts are unknown, or only their documents are known."""
    prediction = record.prediction
    return [one.text for one in prediction.contexts] if prediction and prediction.has_contexts else None


def _documents(record: RunRecord) -> list[str]:
    """The documents that the contexts name, each once, best first."""
    contexts = record.prediction.contexts if record.prediction else ()
    return list(dict.fromkeys(doc_id for one in contexts for doc_id in one.doc_ids if doc_id))


def _gold_pairs(exported: ExportedRuns) -> Iterator[tuple[str, str]]:
    """Each question with each of its gold documents, as `one_word` writes their ids. ConfigError: the runs have
    different questions. DataError: no question has a gold document.
    """
    datasets = {json.dumps(read.manifest.identity.get("dataset"), sort_keys=True) for read in exported.runs}
    if len(datasets) > 1:
        raise ConfigError("the runs have different questions or documents", "export those of each data set apart")
    found: dict[str, list[str]] = {}
    for read in exported.runs:
        for query_id, row in read.sample.items():
            gold = dict.fromkeys(one.doc_id for one in row.reference.evidence if one.doc_id)
            if gold:
                found.setdefault(query_id, list(gold))
    if not found:
        run_id = exported.runs[0].run.run_id
        raise DataError(f"no question of {run_id} has a gold document, so there are no qrels", "use --to ragas")
    return ((one_word(query_id), one_word(doc_id)) for query_id, docs in found.items() for doc_id in docs)


def _rankings(exported: ExportedRuns) -> Iterator[tuple[str, str, dict[str, list[str]]]]:
    """(run id, name of a file, query id -> its documents, each once, best first) of each run and repeat, with the
    last two as `one_word` writes ids. DataError: no context of a run names a document.
    """
    for read in exported.runs:
        run_id, found = read.run.run_id, dict[int, dict[str, list[str]]]()
        for record in read.records:
            documents = list(map(one_word, _documents(record)))
            found.setdefault(record.repeat, {}).update({one_word(record.query_id): documents} if documents else {})
        if not any(found.values()):
            raise DataError(f"{run_id} names no document in any context", "leave it out")
        for repeat, rankings in found.items():
            yield run_id, f"{run_id}.{repeat}" if repeat else run_id, rankings


def one_word(name: str) -> str:
    """An id without what separates the fields of a line or makes it a formula; different ids stay different."""
    return _ENCODED.sub(lambda found: "".join(f"%{octet:02X}" for octet in found.group().encode()), name) or "%"
