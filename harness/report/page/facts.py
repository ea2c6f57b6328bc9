"""What was run, in the few words that have to stand beside every number of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from harness.display.text_format import NOTHING, counted, printable, type_name
from harness.report.view import Group

Fact = tuple[str, str]


def facts(group: Group) -> list[Fact]:
    """Models, queries by type and documents of a group; where its runs differ, every value."""
    dataset = group.widest.manifest.dataset
    types = Counter(group.widest.frame.query_types.values())
    found = [
        ("Generator", _alternatives(view.model("generator") for view in group.views)),
        ("Embedder", _alternatives(view.model("embedder") for view in group.views)),
        ("Queries", f"{sum(types.values()):,}{_by_type(types)}"),
    ]
    repeats = {view.frame.repeats for view in group.views}
    if repeats != {1}:
        found.append(("Answers to each", _alternatives(map(str, sorted(repeats)))))
    documents = dataset.get("n_documents")
    if isinstance(documents, int):
        corpus = dataset.get("corpus")
        found.append(("Documents", f"{documents:,}{f' (corpus: {printable(str(corpus))})' if corpus else ''}"))
    found.append(("Digest", printable(group.digest[:12]) or NOTHING))
    return found


def size(group: Group) -> str:
    """`4 runs, 200 queries`."""
    queries = counted(len(group.widest.frame.query_types), "query", "queries")
    return f"{counted(len(group.views), 'run')}, {queries}"


def _alternatives(values: Iterable[str]) -> str:
    return " or ".join(dict.fromkeys(values))


def _by_type(types: Counter[str]) -> str:
    if len(types) < 2:
        return ""
    return f" ({', '.join(f'{count:,} {type_name(name)}' for name, count in sorted(types.items()))})"
