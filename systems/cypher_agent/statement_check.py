"""Checks whether a statement may be run: an allow-list over its whole parse tree, not a search for forbidden
words.

The parser is openCypher's grammar (package antlr4-cypher). Anything in its tree that is not listed here is
rejected; the rest is checked leaf by leaf and rewritten, with strings as parameters. So comments, escapes and
look-alike letters never reach a database.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from harness.core.errors import need
from systems.common.graph_stores.contract import Column, PieceKind, ReadStatement, StatementPiece
from systems.cypher_agent import graph_schema
from systems.cypher_agent.graph_schema import DOCUMENTS, GraphSchema


class Refused(ValueError):
    """The statement may not be run; the message helps its author to correct it."""


def check_parser() -> None:
    """Raise MissingDependency if the parser is not installed."""
    need("system-cypher-agent", "antlr4_cypher")


def read_statement(text: str, rows: int, schema: GraphSchema = DOCUMENTS) -> ReadStatement:
    """The statement in `text` about a graph of this schema, limited to `rows` rows; raises Refused if it is not
    allowed.
    """
    bare = text.strip().rstrip(";").strip()
    _check_text(bare)
    reader = _Reader(rows, schema)
    try:
        tree = _parsed(bare)
        reader.walk(tree)
    except RecursionError as error:
        raise Refused("the statement is nested too deeply") from error
    return reader.statement()


def _check_text(text: str) -> None:
    if not text:
        raise Refused("there is no statement")
    if len(text) > graph_schema.MOST_CHARACTERS:
        raise Refused(f"the statement has over {graph_schema.MOST_CHARACTERS:,} characters")
    depth = 0
    for sign in graph_schema.STRING.sub("", text):
        depth += (sign in "([{") - (sign in ")]}")
        if depth > graph_schema.DEEPEST:
            raise Refused(f"brackets are nested more than {graph_schema.DEEPEST} deep")


class _Listener:
    """Handles the parser's errors: the first one ends the check."""

    def __init__(self) -> None:
        self.reportAmbiguity = self.reportAttemptingFullContext = self.reportContextSensitivity = _nothing

    def syntaxError(self, _recognizer: Any, symbol: Any, line: int, column: int, message: str, _: Any) -> None:  # noqa: N802
        if str(getattr(symbol, "text", "")).upper() == "WITH":
            raise Refused("a second WITH is not allowed: hand on all that is needed in one")
        raise Refused(f"syntax error at line {line} column {column}: {message[:120]}")


def _nothing(*_: Any) -> None:
    return None


def _parsed(text: str) -> Any:
    from antlr4 import CommonTokenStream, InputStream
    from antlr4_cypher import CypherLexer, CypherParser

    lexer = CypherLexer(InputStream(text))
    parser = CypherParser(CommonTokenStream(lexer))
    for each in (lexer, parser):
        each.removeErrorListeners()
        each.addErrorListener(_Listener())
    return parser.script()


class _Reader:
    """Walks a tree once and rewrites or rejects each part."""

    def __init__(self, rows: int, schema: GraphSchema) -> None:
        self._rows, self._schema = rows, schema
        self._pieces: list[StatementPiece] = []
        self._variables: set[str] = set()
        """Variables of nodes and relationships."""
        self._matched: set[str] = set()
        """Nodes of the patterns since the last WITH: repeating one adds none."""
        self._nodes = self._relationships = self._unlabelled = 0
        self._named: set[str] = set()
        """Names of values in WITH and RETURN."""
        self._sources: dict[str, str] = {}
        """For names passed on by WITH: alias -> kind of its source."""
        self._columns: list[Column] = []
        self._in_return = False
        self._may_be_bare = False
        """Whether a whole node may be used here: in a count, or passed on by WITH."""

    def statement(self) -> ReadStatement:
        if not self._columns:
            raise Refused("the statement returns nothing: end it with RETURN")
        if not any(column.source for column in self._columns):
            key = next(iter(self._schema.sources))
            raise Refused(
                f"RETURN has to say where its rows come from: add {' or '.join(self._schema.sources)}, or "
                f"collect(DISTINCT variable.{key})"
            )
        return ReadStatement(tuple(self._pieces), tuple(self._columns), self._rows)

    def walk(self, node: Any) -> None:
        if not hasattr(node, "getRuleIndex"):
            self._leaf(node.getText())
            return
        rule = _rule(node)
        own: Callable[[Any], None] | None = getattr(self, f"_{rule}", None)
        if own is not None:
            own(node)
        elif rule in graph_schema.WALKED:
            self._children(node)
        else:
            said = graph_schema.SAID.get(rule, rule)
            raise Refused(f"{said} is not allowed: use MATCH, WHERE, WITH and RETURN alone")

    def _children(self, node: Any) -> None:
        for child in node.getChildren():
            self.walk(child)

    def _copy(self, *texts: str) -> None:
        for text in texts:
            self._write("as_is", text)

    def _write(self, kind: PieceKind, value: str, of: str = "") -> None:
        if len(self._pieces) == graph_schema.MOST_PIECES:
            raise Refused(f"the statement has over {graph_schema.MOST_PIECES} words, names and signs")
        self._pieces.append(StatementPiece(kind, value, of))

    def _leaf(self, text: str) -> None:
        # The grammar has one token for white space and comments.
        if not text.strip() or text == "<EOF>" or text.lstrip().startswith(("//", "/*")):
            return
        if text in graph_schema.SIGNS or text.upper() in graph_schema.WORDS:
            self._copy(text.upper())
        elif graph_schema.NUMBER.fullmatch(text):
            self._copy(text)
        else:
            raise Refused(f"{text[:30]!r} is not allowed")

    # Parts with their own checks.

    def _nodePattern(self, node: Any) -> None:  # noqa: N802 - as the grammar calls it
        rules = {_rule(child): child for child in _parts(node)}
        self._copy("(")
        variable = self._name_of(rules["symbol"]) if "symbol" in rules else ""
        is_new = variable not in self._matched
        if is_new:
            self._nodes += 1
            self._check_count(self._nodes, graph_schema.MOST_NODES, "nodes")
        if variable:
            self._variables.add(variable)
            self._matched.add(variable)
            self._copy(variable)
        if "nodeLabels" in rules:
            self._labels(rules["nodeLabels"])
        elif is_new:
            self._count_unlabelled()
            self._write("any_node", "")
        if "properties" in rules:
            self.walk(rules["properties"])
        self._copy(")")

    def _check_count(self, count: int, most: int, what: str) -> None:
        if count > most:
            raise Refused(f"the patterns name over {most} {what}: match fewer, or name one again by its variable")

    def _count_unlabelled(self) -> None:
        self._unlabelled += 1
        if self._unlabelled > graph_schema.MOST_UNLABELLED:
            raise Refused(
                f"over {graph_schema.MOST_UNLABELLED} nodes and relationships have no label or type: "
                f"write {', '.join(f'(:{label})' for label in self._schema.labels)}, "
                f"{', '.join(f'-[:{name}]-' for name in self._schema.relationships)}"
            )

    def _labels(self, node: Any) -> None:
        label = re.sub(r"\s", "", node.getText()).removeprefix(":")
        if label not in self._schema.labels:
            raise Refused(
                f"there is no label {label[:40]!r}: there are {', '.join(self._schema.labels)}, one for a node"
            )
        self._write("label", label)

    def _relationDetail(self, node: Any) -> None:  # noqa: N802
        rules = {_rule(child): child for child in _parts(node)}
        if unknown := rules.keys() - {"symbol", "relationshipTypes", "properties"}:
            raise Refused(f"{graph_schema.SAID.get(min(unknown), min(unknown))} is not allowed")
        if "symbol" in rules:
            variable = self._name_of(rules["symbol"])
            self._variables.add(variable)
        else:
            # A name that no statement can contain, because a database may need more about the edge than its type.
            variable = f"_{len(self._pieces)}"
        self._copy("[", variable)
        name = self._type(rules["relationshipTypes"]) if "relationshipTypes" in rules else ""
        if not name:
            self._count_unlabelled()
        self._write("type", name)
        if "properties" in rules:
            self.walk(rules["properties"])
        self._write("edge", name, of=variable)
        self._copy("]")

    def _type(self, node: Any) -> str:
        name = re.sub(r"\s", "", node.getText()).removeprefix(":")
        if name not in self._schema.relationships:
            raise Refused(
                f"there is no relationship {name[:40]!r}: there are {', '.join(self._schema.relationships)}"
                f"{self._schema.unknown_relationship}"
            )
        return name

    def _relationshipPattern(self, node: Any) -> None:  # noqa: N802
        # An arrow is one sign to a database and several in the grammar.
        signs = re.sub(r"\[.*\]|\s", "", node.getText(), flags=re.DOTALL)
        self._relationships += 1
        self._check_count(self._relationships, graph_schema.MOST_RELATIONSHIPS, "relationships")
        self._copy("<-" if signs.startswith("<") else "-")
        details = _parts(node)
        if details:
            self.walk(details[0])
        else:
            self._count_unlabelled()
            self._copy("[]")
        self._copy("->" if signs.endswith(">") else "-")

    def _patternPart(self, node: Any) -> None:  # noqa: N802
        if any(child.getText() == "=" for child in node.getChildren()):
            raise Refused("a path variable is not allowed: name the nodes and relationships")
        self._children(node)

    def _propertyExpression(self, node: Any) -> None:  # noqa: N802
        atom, *names = _parts(node)
        if not names:
            self.walk(atom)
            return
        if len(names) > 1 or not graph_schema.NAME.fullmatch(atom.getText()):
            raise Refused(f"{node.getText()[:40]!r} is not allowed: a property is written variable.name")
        variable = atom.getText()
        if variable not in self._variables:
            raise Refused(f"{variable!r} is no node or relationship of the pattern")
        self._copy(variable, ".")
        self._property(names[0].getText())

    def _mapPair(self, node: Any) -> None:  # noqa: N802
        name, value = _parts(node)
        self._property(name.getText())
        self._copy(":")
        self.walk(value)

    def _property(self, name: str) -> None:
        if name not in self._schema.properties:
            raise Refused(
                f"there is no property {name[:40]!r}: there are {', '.join(sorted(self._schema.properties))}"
            )
        self._write("property", name)

    def _functionInvocation(self, node: Any) -> None:  # noqa: N802
        name, *rest = [child for child in node.getChildren() if child.getText().strip()]
        called = re.sub(r"\s", "", name.getText())
        if called.lower() not in graph_schema.FUNCTIONS:
            raise Refused(
                f"there is no function {called[:40]!r}: there are {', '.join(sorted(graph_schema.FUNCTIONS))}"
            )
        self._copy(called.lower() if called.isupper() else called)
        before, self._may_be_bare = self._may_be_bare, called.lower() == "count"
        for child in rest:
            self.walk(child)
        self._may_be_bare = before

    def _countAll(self, _node: Any) -> None:  # noqa: N802
        self._copy("count(*)")

    def _symbol(self, node: Any) -> None:
        """A variable, or a number, which the grammar treats as names."""
        text = node.getText()
        if graph_schema.NUMBER.fullmatch(text):
            self._copy(text)
            return
        name = self._name_of(node)
        if name in self._variables and not self._may_be_bare:
            raise Refused(f"{name!r} is a whole node or relationship: name a property of it, such as {name}.name")
        if name not in self._variables | self._named:
            raise Refused(f"{name!r} is not defined")
        self._copy(name)

    def _name_of(self, node: Any) -> str:
        name: str = node.getText()
        if not graph_schema.NAME.fullmatch(name):
            raise Refused(f"{name[:40]!r} is no name: letters a-z, digits and _")
        return name

    def _stringLit(self, node: Any) -> None:  # noqa: N802
        text = node.getText()[1:-1]
        if any(escaped not in "'\"\\" for escaped in graph_schema.ESCAPED.findall(text)):
            raise Refused("of escapes in a text only \\', \\\" and \\\\ are allowed: write the letters themselves")
        self._write("text", graph_schema.ESCAPED.sub(r"\1", text))

    def _charLit(self, node: Any) -> None:  # noqa: N802
        self._stringLit(node)

    def _withSt(self, node: Any) -> None:  # noqa: N802
        # A variable that is not passed on would be another node in the next pattern.
        self._matched.clear()
        self._children(node)

    def _returnSt(self, node: Any) -> None:  # noqa: N802
        self._in_return = True
        self._children(node)

    def _projectionItems(self, node: Any) -> None:  # noqa: N802
        if any(child.getText() == "*" for child in node.getChildren()):
            raise Refused("RETURN * is not allowed: name the properties")
        self._children(node)

    def _projectionItem(self, node: Any) -> None:  # noqa: N802
        expression, *alias = _parts(node)
        start = len(self._pieces)
        handed_on = expression.getText() in self._variables and not self._in_return
        before, self._may_be_bare = self._may_be_bare, handed_on
        self.walk(expression)
        self._may_be_bare = before
        written = self._pieces[start:]
        name = self._name_of(alias[0]) if alias else "".join(piece.value for piece in written)
        if alias:
            self._copy("AS", name)
            (self._variables if handed_on else self._named).add(name)
            self._sources[name] = self._source_of(written)
        if self._in_return:
            self._columns.append(Column(name, self._source_of(written)))

    def _source_of(self, pieces: Sequence[StatementPiece]) -> str:
        """The kind of the ids in an expression that identify a source; empty if there are none."""
        sources = self._schema.sources
        named = (sources[each.value] for each in pieces if each.kind == "property" and each.value in sources)
        handed = (self._sources.get(each.value, "") for each in pieces if each.kind == "as_is")
        return next(filter(None, (*named, *handed)), "")

    def _limitSt(self, node: Any) -> None:  # noqa: N802
        wanted = _count_in(node)
        if not self._in_return:
            self._copy("LIMIT", str(wanted))
        else:
            # Added by this check, which always writes one.
            self._rows = min(self._rows, wanted)

    def _skipSt(self, node: Any) -> None:  # noqa: N802
        self._copy("SKIP", str(_count_in(node)))


def _parts(node: Any) -> list[Any]:
    """Its children that are no leaves."""
    return [child for child in node.getChildren() if hasattr(child, "getRuleIndex")]


def _rule(node: Any) -> str:
    from antlr4_cypher import CypherParser

    name: str = CypherParser.ruleNames[node.getRuleIndex()]
    return name


def _count_in(node: Any) -> int:
    said = node.getText().upper().removeprefix("LIMIT").removeprefix("SKIP").strip()
    if not re.fullmatch(r"\d{1,6}", said):
        raise Refused("LIMIT and SKIP take a number")
    return int(said)
