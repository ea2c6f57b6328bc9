"""Triplets that a text writes as such, as graphs give their contexts: `(head)-[relation]->(tail)`, a line each."""

from harness.extraction.nouns import Triplet


def split(text: str) -> tuple[list[Triplet], str]:
    """The lines that are triplets, read, and the others as they stand: those take an extractor."""
    lines = [(_written(line.strip()), line) for line in text.splitlines(keepends=True)]
    return [triplet for triplet, _ in lines if triplet], "".join(line for triplet, line in lines if not triplet)


def _written(line: str) -> Triplet | None:
    if not (line.startswith("(") and line.endswith(")")):
        return None
    head, arrow, rest = line[1:-1].partition(")-[")
    relation, other, tail = rest.partition("]->(")
    parts = Triplet(head.strip(), relation.strip(), tail.strip())
    return parts if arrow and other and parts.head and parts.tail else None
