"""A checked statement: its parts, and its spelling for a database."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

PieceKind = Literal["as_is", "label", "any_node", "type", "edge", "property", "text"]


@dataclass(frozen=True)
class StatementPiece:
    """One part. `as_is`: a checked keyword, name, number or sign; `text`: a string, which becomes a parameter;
    `any_node`: the position of a missing node label; `edge`: the end of an edge, after its type and properties.
    """

    kind: PieceKind
    value: str
    of: str = ""
    """The variable of the edge that ends there."""


@dataclass(frozen=True)
class Column:
    name: str
    """Its displayed name."""
    source: str
    """The kind of ids that it contains (`GraphSchema.sources`); empty: none."""


Spelling = Callable[[StatementPiece], str]
"""How a database writes a label, a node without one, or a type of relationship."""


@dataclass(frozen=True)
class ReadStatement:
    """A query that cannot write, read a file or send a request, and returns at most `rows` rows."""

    pieces: tuple[StatementPiece, ...]
    columns: tuple[Column, ...]
    rows: int

    def spelled(self, spell: Spelling) -> tuple[str, Mapping[str, Any]]:
        """The text for a database, and its parameters. It contains only checked parts of the original."""
        parameters: dict[str, Any] = {}
        parts = []
        for piece in self.pieces:
            if piece.kind == "text":
                name = f"text{len(parameters)}"
                parameters[name] = piece.value
                parts.append(f"${name}")
            elif piece.kind == "property":
                parts.append(f"`{piece.value}`")
            else:
                parts.append(piece.value if piece.kind == "as_is" else spell(piece))
        # Ladybug's grammar does not allow a space between DESC and a comma.
        return f"{' '.join(parts).replace(' ,', ',')} LIMIT {self.rows}", parameters
