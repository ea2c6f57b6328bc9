"""Matches imported rows with the queries of a data set."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.core.errors import DataError
from harness.core.records import Query
from harness.datasets.folder.text_cleanup import plain
from harness.runner.importing.answer_file import ImportedRow, quoted

AnswerKey = tuple[str, int]
"""(query_id, repeat)."""


@dataclass(frozen=True)
class Matched:
    """Rows by query and repeat, sorted by repeat, then in the order of the data set."""

    rows: Mapping[AnswerKey, ImportedRow]
    n_left_out: int

    @property
    def query_ids(self) -> frozenset[str]:
        return frozenset(query_id for query_id, _ in self.rows)

    @property
    def repeats(self) -> int:
        return 1 + max(repeat for _, repeat in self.rows)


def match_rows(
    rows: Sequence[ImportedRow], known: Sequence[Query], *, holder: str, leave_out_unknown: bool
) -> Matched:
    """Match each row with a query of `known`. `holder` names the data set or run in messages.

    A row is matched by its query_id if that is known, otherwise by its text: exactly, then cleaned with
    collapsed white space. DataError for an unknown query (unless such rows are skipped), a text that several
    queries share, an id with another text, a query that is answered twice, a gap in the repeats, or no match.
    """
    book = QueryIndex(known, holder)
    found: dict[AnswerKey, ImportedRow] = {}
    unknown = []
    for row in rows:
        query_id = book.find(row)
        if query_id is None:
            unknown.append(row)
            continue
        twin = found.setdefault((query_id, row.repeat), row)
        if twin is not row:
            again = f" (repeat {row.repeat})" if row.repeat else ""
            what = f"{twin.place} and {row.place} both answer {quoted(query_id)}{again}"
            way_out = "keep the rows of one run with --where FIELD=VALUE, or number them with a field 'repeat'"
            raise DataError(what, f"{way_out} (0, 1, ...)")
    if unknown and not (leave_out_unknown and found):
        raise book.explain_unknown(unknown, len(rows))
    repeats = {repeat for _, repeat in found}
    missing = min(set(range(len(repeats) + 1)) - repeats)
    if missing < len(repeats):
        raise DataError(f"no row has repeat {missing}, but some have higher ones", "number the repeats 0, 1, ...")
    order = {query.query_id: number for number, query in enumerate(known)}
    keys = sorted(found, key=lambda key: (key[1], order[key[0]]))
    return Matched({key: found[key] for key in keys}, len(unknown))


class QueryIndex:
    def __init__(self, queries: Sequence[Query], holder: str) -> None:
        self._holder = holder
        self._texts = {query.query_id: query.text for query in queries}
        self._exact: dict[str, list[str]] = {}
        self._collapsed: dict[str, list[str]] = {}
        for query in queries:
            self._exact.setdefault(query.text, []).append(query.query_id)
            self._collapsed.setdefault(_collapse(query.text), []).append(query.query_id)

    def find(self, row: ImportedRow) -> str | None:
        """The id of the query of a row, None if it is unknown. DataError if it is ambiguous."""
        if row.query_id in self._texts:
            text = self._texts[row.query_id]
            if row.query is not None and _collapse(row.query) != _collapse(text):
                what = f"{row.place}: query_id {quoted(row.query_id)} is {quoted(text)} in {self._holder}"
                raise DataError(
                    f"{what}, not {quoted(row.query)}", "correct one of them, or drop query_id to match by text"
                )
            return row.query_id
        if row.query is None:
            return None
        fitting = self._exact.get(row.query) or self._collapsed.get(_collapse(row.query), [])
        if len(fitting) > 1:
            shared = f"{row.place}: {len(fitting)} queries of {self._holder} have the text {quoted(row.query)}"
            raise DataError(shared, f"add a query_id ({quoted(fitting[0])}, {quoted(fitting[1])}, ...)")
        return fitting[0] if fitting else None

    def explain_unknown(self, unknown: Sequence[ImportedRow], n_rows: int) -> DataError:
        first = unknown[0]
        asked = first.query if first.query is not None else first.query_id or ""
        what = (
            f"{first.place}: {self._holder} has no query {quoted(asked)}; "
            f"{len(unknown):,} of {n_rows:,} rows have an unknown query"
        )
        way_out = "correct them" if len(unknown) == n_rows else "correct them, or skip them with --skip-unknown"
        near = self._nearest(first)
        return DataError(what, f"{way_out} (the nearest is {near})" if near else way_out)

    def _nearest(self, row: ImportedRow) -> str:
        if row.query is None:
            near = difflib.get_close_matches(row.query_id or "", self._texts, n=1, cutoff=0.5)
            return quoted(near[0]) if near else ""
        # By shared words, because difflib takes seconds for thousands of long questions.
        asked = set(row.query.casefold().split())

        def likeness(query_id: str) -> float:
            words = set(self._texts[query_id].casefold().split())
            return len(asked & words) / max(1, len(asked | words))

        best = max(self._texts, key=likeness)
        return f"{quoted(best)}: {quoted(self._texts[best])}" if likeness(best) else ""


def _collapse(text: str) -> str:
    return " ".join(plain(text).split())
