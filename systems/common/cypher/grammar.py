"""The parts of openCypher's grammar that a statement may use, under the names of its rules."""

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\S+", text))


WALKED = _words("""
script query regularQuery singleQuery singlePartQ multiPartQ readingStatement matchSt withSt projectionBody where
orderSt orderItem patternWhere pattern patternElem patternElemChain properties mapLit
expression xorExpression andExpression notExpression comparisonExpression comparisonSigns
addSubExpression multDivExpression powerExpression unaryAddSubExpression atomicExpression
listExpression stringExpression stringExpPrefix nullExpression parenthesizedExpression
propertyOrLabelExpression atom expressionChain literal boolLit numLit listLit caseExpression
""")
"""Rules whose parts are all checked further down. All others have a method of the reader or are rejected."""
SAID = {
    "unionSt": "UNION",
    "unwindSt": "UNWIND",
    "queryCallSt": "CALL",
    "standaloneCall": "CALL",
    "updatingStatement": "a clause that writes",
    "parameter": "a parameter",
    "patternComprehension": "a pattern in an expression",
    "relationshipsChainPattern": "a pattern in an expression",
    "subqueryExist": "EXISTS { ... }",
    "rangeLit": "a path of any length (write each hop)",
}
"""Names of rules in error messages."""
STRING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
NUMBER = re.compile(r"\d{1,15}(\.\d{1,15})?")
SIGNS = _words("( ) [ ] { } , . : < > + - * / % = <> <= >=")
WORDS = _words("""
MATCH OPTIONAL WHERE RETURN WITH DISTINCT AS ORDER BY ASC ASCENDING DESC DESCENDING AND OR NOT
IN STARTS ENDS CONTAINS IS NULL TRUE FALSE CASE WHEN THEN ELSE END
""")
"""Without XOR: Neo4j's planning cost doubles with each XOR of a chain."""
