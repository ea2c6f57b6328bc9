"""How nano-graphrag keeps several values in one field."""

SEPARATOR = "<SEP>"
"""The library's, between the text units of a node or an edge, and between descriptions that it joined."""
