"""How nano-graphrag and LightRAG join several values in one field, and the plain text of such a field."""

SEPARATOR = "<SEP>"
"""Separator of the libraries between text units of a node or edge, and between joined descriptions."""


def plain(text: str) -> str:
    """Without the quotes and separators that a library leaves in names and descriptions."""
    return text.replace(SEPARATOR, " ").strip().strip('"')


def relation_text(source: str, target: str, description: str) -> str:
    """The statement about two entities, with their names if the description does not contain both."""
    ends, stated = (plain(source), plain(target)), plain(description)
    if all(end.casefold() in stated.casefold() for end in ends):
        return stated
    return f"{' - '.join(ends)}: {stated}"
