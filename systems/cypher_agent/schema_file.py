"""A graph schema of the user's own: a YAML file that says which nodes and relationships documents become.

Every document is a node of one label. The values of its fields (title, text, metadata) make the other nodes, one
for each distinct value, and the relationships that join them to it. `schemas/emails.yaml` is an example with all
keys.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from email.utils import getaddresses
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from harness.core.bounded_files import read_plain, without_home
from harness.core.errors import ConfigError, nearest
from harness.core.records import Document
from systems.cypher_agent import graph_schema
from systems.cypher_agent.graph_schema import GraphSchema
from systems.cypher_agent.statement_check import Refused, read_statement

SHIPPED = Path(__file__).parent / "schemas"
_MOST_BYTES = 65_536
_REPLY = re.compile(r"^\s*(?:(?:re|fwd?|aw|wg|sv|tr)\s*(?:\[\d+\])?\s*:\s*)+", re.IGNORECASE)
ValueKind = Literal["text", "list", "addresses", "thread"]
"""How a field becomes values: as it is; split at commas; addresses with their names; a subject without Re:."""
_Name = Field(pattern=rf"^{graph_schema.NAME.pattern}$")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NodeType(_Part):
    """A label: its key property, and further properties."""

    key: str = _Name
    name: str | None = Field(None, pattern=rf"^{graph_schema.NAME.pattern}$")
    """A property for the value as first written; only for labels made of values."""
    properties: dict[str, str] = Field({}, max_length=20)
    """Property -> field of the document; only for the label of documents."""


class RelationshipType(_Part):
    """A relationship between a document and the values of its fields."""

    start: str = Field(alias="from")
    end: str = Field(alias="to")
    fields: list[str] = Field(min_length=1, max_length=20)
    values: ValueKind = "text"


class Example(_Part):
    question: str = Field(min_length=1, max_length=500)
    statement: str


class SchemaFile(_Part):
    about: str = Field(min_length=1, max_length=200)
    document: str
    date: str = "published_at"
    """The field with a document's date."""
    nodes: dict[str, NodeType] = Field(min_length=1, max_length=20)
    relationships: dict[str, RelationshipType] = Field({}, max_length=20)
    advice: str = Field("", max_length=4_000)
    examples: list[Example] = Field([], max_length=10)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        for names in ([*self.nodes, *self.relationships], *map(self.properties_of, self.nodes)):
            _check_names(names)
        if self.document not in self.nodes:
            raise ValueError(f"document '{self.document}' is no node: {nearest(self.document, self.nodes)}")
        for label, node in self.nodes.items():
            if label != self.document and node.properties:
                raise ValueError(f"node {label} has properties, but only the document node {self.document} may")
        if self.nodes[self.document].name:
            raise ValueError(f"node {self.document} has a name: give it a property instead (name: title)")
        for name, one in self.relationships.items():
            for end in (one.start, one.end):
                if end not in self.nodes:
                    raise ValueError(f"relationship {name}: there is no node '{end}': {nearest(end, self.nodes)}")
            if (one.start == self.document) is (one.end == self.document):
                raise ValueError(
                    f"relationship {name} joins {one.start} to {one.end}: one of them has to be {self.document}"
                )
        return self

    @property
    def properties(self) -> list[str]:
        return [name for label in self.nodes for name in self.properties_of(label)]

    def properties_of(self, label: str) -> list[str]:
        """The properties of a label, its key first."""
        node = self.nodes[label]
        return [node.key, *([node.name] if node.name else []), *node.properties]

    def graph_schema(self) -> GraphSchema:
        """The names that statements may use. ConfigError if an example is not a statement about this schema."""
        key = self.nodes[self.document].key
        patterns = (f"(:{one.start})-[:{name}]->(:{one.end})" for name, one in self.relationships.items())
        listed = (f"{label}: {', '.join(self.properties_of(label))}" for label in self.nodes)
        examples = tuple((one.question, " ".join(one.statement.split())) for one in self.examples)
        schema = GraphSchema(
            about=self.about,
            labels=tuple(self.nodes),
            relationships=tuple(self.relationships),
            properties=frozenset(self.properties),
            sources={key: "doc_id"},
            shown="\n".join(filter(None, (", ".join(patterns), *listed))),
            returns=f"{key} of every {self.document} that a row is about",
            advice=self.advice.strip(),
            examples=examples,
        )
        for question, statement in examples:
            try:
                read_statement(statement, 1, schema)
            except Refused as error:
                raise ValueError(f"the example {question[:60]!r}: {error}") from error
        return schema


def _check_names(names: Sequence[str]) -> None:
    """ValueError for what is no name, and for names that differ at most in case: the store takes them as one."""
    if bad := sorted(name for name in names if not graph_schema.NAME.fullmatch(name)):
        raise ValueError(f"{bad[0][:40]!r} is no name: letters a-z, digits and _, a letter first")
    folded = [name.casefold() for name in names]
    if twice := [name for name, key in zip(names, folded, strict=True) if folded.count(key) > 1]:
        raise ValueError(f"{' and '.join(twice)} are one name to the graph store, which ignores case: rename one")


def schema_path(named: str) -> Path:
    """The file of this path, or the shipped one of this name."""
    path = Path(named)
    shipped = SHIPPED / path.name
    return path if path.exists() or len(path.parts) != 1 or not shipped.is_file() else shipped


def read_schema(named: str) -> tuple[SchemaFile, GraphSchema]:
    """The schema in a file. ConfigError, one line: no such file, no YAML, an unknown key, node, kind of values or
    name, or a statement of an example that is not allowed.
    """
    path = schema_path(named)
    shown = without_home(str(path))
    try:
        content = read_plain(path, _MOST_BYTES)
    except OSError as error:
        shipped = ", ".join(sorted(one.name for one in SHIPPED.glob("*.yaml")))
        what = f"cannot read the graph schema {shown}: {error.strerror}"
        raise ConfigError(what, f"name a file, or {shipped}") from error
    try:
        schema = SchemaFile.model_validate(_parsed(content))
        return schema, schema.graph_schema()
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        why = first["msg"].removeprefix("Value error, ")
        raise ConfigError(f"the graph schema {shown}: {f'{where}: ' if where else ''}{why}", _FIX) from error
    except ValueError as error:
        raise ConfigError(f"the graph schema {shown}: {error}", _FIX) from error


_FIX = "compare it with systems/cypher_agent/schemas/emails.yaml"


def _parsed(content: bytes) -> Any:
    """The YAML; ValueError for what is nested too deep, for aliases (which may contain themselves), and other
    errors.
    """
    import yaml

    depth = 0
    try:
        for event in yaml.parse(content, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                raise ValueError(
                    f"*{event.anchor} refers to a part of the file, which may be a cycle: write it out"
                )
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > 10:
                raise ValueError("it is nested more than 10 deep")
        return yaml.safe_load(content)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        # Without its text: the file may be any file, named by mistake.
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        raise ValueError(f"it is no YAML{where}") from error


def check_fields(schema: SchemaFile, corpus: Sequence[Document]) -> None:
    """ConfigError if a relationship or property reads only fields that no document has, and so would be empty."""
    known = sorted({*_OWN_FIELDS, *(name for document in corpus for name in document.metadata)})
    properties = schema.nodes[schema.document].properties
    read = {f"relationship {name}": one.fields for name, one in schema.relationships.items()}
    read |= {f"property {name}": [field] for name, field in properties.items()}
    for name, fields in read.items():
        if not set(fields) & set(known):
            raise ConfigError(
                f"the graph schema's {name} reads {' and '.join(fields)}, which no document has",
                f"fields of the documents: {nearest(fields[0], known)}",
            )


_OWN_FIELDS = ("doc_id", "title", "text")


def field_of(document: Document, name: str) -> str:
    own = {"doc_id": document.doc_id, "title": document.title, "text": document.text}
    return own.get(name, document.metadata.get(name, ""))


def values_in(document: Document, relationship: RelationshipType) -> Mapping[str, str]:
    """Key -> the value as written, for every distinct value of the fields."""
    found: dict[str, str] = {}
    for name in relationship.fields:
        for key, value in _VALUES[relationship.values](field_of(document, name)):
            found.setdefault(key, value)
    return found


def _text(value: str) -> list[tuple[str, str]]:
    said = " ".join(value.split())
    return [(said.casefold(), said)] if said else []


def _listed(value: str) -> list[tuple[str, str]]:
    return [pair for part in value.split(",") for pair in _text(part)]


def _addresses(value: str) -> list[tuple[str, str]]:
    found = getaddresses([value])
    return [(address.casefold(), " ".join(name.split()) or address) for name, address in found if address]


def _thread(value: str) -> list[tuple[str, str]]:
    return _text(_REPLY.sub("", " ".join(value.split())))


_VALUES: dict[ValueKind, Callable[[str], list[tuple[str, str]]]] = {
    "text": _text,
    "list": _listed,
    "addresses": _addresses,
    "thread": _thread,
}
