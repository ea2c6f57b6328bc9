"""Cypher that must not be run: it writes, reads files, sends requests, hangs, or hides its effect."""

WRITES = (
    "CREATE (n:Chunk {chunk_id: 'x'}) RETURN n.chunk_id",
    "MATCH (n) DELETE n",
    "MATCH (n) DETACH DELETE n",
    "MATCH (n:Chunk) SET n.text = 'gone' RETURN n.chunk_id",
    "MATCH (n:Chunk) REMOVE n.text RETURN n.chunk_id",
    "MERGE (n:Entity {entity_id: 'x'}) RETURN n.entity_id",
    "MATCH (n:Chunk) FOREACH (x IN [1] | SET n.text = '') RETURN n.chunk_id",
    "MATCH (n:Chunk) WITH n CREATE (m:Chunk {chunk_id: n.chunk_id}) RETURN m.chunk_id",
    "match (n:Chunk) detach delete n return 1",
    "DROP TABLE Chunk",
    "ALTER TABLE Chunk ADD x INT64",
    "CREATE NODE TABLE Evil(id INT64 PRIMARY KEY)",
    "DROP INDEX Rag_0123456789abVectors IF EXISTS",
    "CREATE CONSTRAINT x FOR (n:Chunk) REQUIRE n.text IS UNIQUE",
    "COPY Chunk FROM '/tmp/evil.csv'",
    "CHECKPOINT",
)
READS_FILES = (
    "LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line",
    "LOAD FROM '/etc/passwd' RETURN *",
    "COPY (MATCH (n:Chunk) RETURN n.chunk_id) TO '/tmp/evil.csv'",
    "EXPORT DATABASE '/tmp/evil'",
    "IMPORT DATABASE '/tmp/evil'",
    "ATTACH '/tmp/evil' AS other (dbtype lbug)",
    "INSTALL httpfs",
    "LOAD EXTENSION '/tmp/evil.so'",
    "CALL apoc.load.json('file:///etc/passwd') YIELD value RETURN value",
    "CALL apoc.import.csv([], [], {}) YIELD source RETURN source",
)
SENDS_REQUESTS = (
    "LOAD CSV FROM 'http://127.0.0.1:9/x' AS line RETURN line",
    "CALL apoc.load.json('http://127.0.0.1:9/') YIELD value RETURN value",
    "CALL apoc.load.csv('http://127.0.0.1:9/') YIELD list RETURN list",
    "MATCH (d:Document) CALL apoc.load.xml('http://127.0.0.1:9/' + d.title) YIELD value RETURN d.doc_id",
    "MATCH (d:Document) RETURN d.doc_id, apoc.util.compress(d.title)",
    "MATCH (d:Document) WITH d LOAD CSV FROM 'http://127.0.0.1:9/' + d.title AS x RETURN d.doc_id",
    "LOAD FROM 'https://127.0.0.1:9/x.csv' RETURN *",
)
PROCEDURES = (
    "CALL dbms.listConfig() YIELD name, value RETURN name, value",
    "CALL db.labels() YIELD label RETURN label",
    "CALL show_tables() RETURN *",
    "CALL threads=64",
    "CALL { MATCH (n:Chunk) DELETE n } RETURN 1",
    "MATCH (d:Document) CALL (d) { MATCH (n:Chunk) DETACH DELETE n } IN TRANSACTIONS RETURN d.doc_id",
    "SHOW USERS",
    "EXPLAIN MATCH (n:Chunk) DELETE n",
    "PROFILE MATCH (n:Chunk) DELETE n",
    "USE system MATCH (n) RETURN n",
)
HIDDEN = (
    "MATCH (n:Chunk) RETURN n.chunk_id; MATCH (n:Chunk) DELETE n",
    "MATCH (n:Chunk) RETURN n.chunk_id /* */ ; /* */ DROP TABLE Chunk",
    "MATCH (n:Chunk) /* RETURN n.chunk_id */ DELETE n",
    "MATCH (n:Chunk {text: '\\u0027}) DELETE n //'}) RETURN n.chunk_id",
    "MATCH (n:`Chunk`) DELETE n",
    "MATCH (n:Chunk)\u2028DELETE n",
    "MATCH (n:Chunk) D\u0415LETE n",
    "MATCH (n:Chunk) RETURN n.chunk_id UNION MATCH (n:Chunk) DELETE n RETURN 'x' AS chunk_id",
    "MATCH (n:Chunk) WHERE n.text = $text0 RETURN n.chunk_id",
    "MATCH (n:Chunk) RETURN n.`text` + `x`, n.chunk_id",
    "MATCH (n:Chunk) RETURN n.chunk_id AS `x; DROP TABLE Chunk`",
    "MATCH (n:Chunk) WHERE EXISTS { MATCH (n)-[:PART_OF]->(d) } RETURN n.chunk_id",
    "\x00MATCH (n:Chunk) DELETE n",
    "",
    ";",
)
BULKY = (
    "MATCH (n:Chunk) RETURN n",
    "MATCH (n:Chunk) RETURN *",
    "MATCH (n:Chunk) RETURN collect(n), n.chunk_id",
    "MATCH (n:Chunk) RETURN n.embedding, n.chunk_id",
    "MATCH p = (a:Entity)-[*]-(b:Entity) RETURN p",
    "MATCH (a:Entity)-[:RELATES*]-(b:Entity) RETURN a.entity_id",
    "MATCH (a:Entity)-[:RELATES*1..30]-(b:Entity) RETURN a.entity_id",
    "MATCH (a:Entity), (b:Entity), p = shortestPath((a)-[*]-(b)) RETURN length(p)",
    "UNWIND range(1, 1000000000) AS x RETURN x",
    "MATCH (n:Chunk) RETURN [x IN range(1, 1000000000) | n.text], n.chunk_id",
    "MATCH (n:Chunk) RETURN reduce(a = '', x IN [1] | a + n.text), n.chunk_id",
    "MATCH (n:Chunk) WHERE n.text =~ '(a+)+$' RETURN n.chunk_id",
    "MATCH (n:Chunk) RETURN " + "(" * 500 + "1" + ")" * 500,
    "MATCH (n:Chunk) RETURN " + "-" * 1500 + "1, n.chunk_id",
    "MATCH (n:Chunk) WHERE " + "NOT " * 400 + "n.start = 1 RETURN n.chunk_id",
    "MATCH (n:Chunk) WHERE n.start = 1" + " OR n.start = 1" * 5_000 + " RETURN n.chunk_id",
)
REFUSED = (*WRITES, *READS_FILES, *SENDS_REQUESTS, *PROCEDURES, *HIDDEN, *BULKY)
"""All of these are rejected."""
HEAVY = (
    "MATCH (a:Entity), (b:Entity), (c:Entity), (d:Entity), (z:Chunk) "
    "RETURN count(*) AS n, count(DISTINCT z.chunk_id)",
    "MATCH (a:Chunk), (b:Chunk), (c:Chunk) RETURN collect(a.text), max(b.chunk_id), collect(c.text)",
    "MATCH (a:Entity)-[:RELATES]-(b)-[:RELATES]-(c)-[:RELATES]-(d)-[:RELATES]-(e)-[:RELATES]-(f), (z:Chunk) "
    "RETURN count(*) AS n, max(z.chunk_id)",
)
"""Allowed, but heavier than a database can bear without a limit."""
HARMLESS = (
    "MATCH (e:Entity)<-[:MENTIONS]-(c:Chunk) WITH e, count(c) AS n "
    "MATCH (e)<-[:MENTIONS]-(c:Chunk) WHERE n > 0 RETURN e.name, n, c.chunk_id",
    "MATCH (d:Document) WHERE d.title = 'CREATE (n) DELETE n' OR d.doc_id <> '' RETURN d.doc_id",
    "MATCH (d:Document) RETURN d.title AS created, d.doc_id // DELETE d",
    "match (d:Document) return d.doc_id as set_of_ids limit 5",
)
"""Looks harmful, but is not: each is run and finds something."""


def _star(count: int, edge: str = "--", label: str = "", more: str = ", ") -> str:
    leaves = (f"(c){edge}(n{number}{label})" for number in range(count))
    return f"MATCH (c:Chunk){more}{more.join(leaves)} RETURN c.doc_id LIMIT 1"


def _chain(count: int, edge: str = "--", label: str = "") -> str:
    nodes = (f"(n{number}{label})" for number in range(count))
    return f"MATCH {edge.join(nodes)} RETURN n0.doc_id, n0.name LIMIT 1"


def _apart(count: int, label: str = "") -> str:
    nodes = (f"(n{number}{label})" for number in range(count))
    return f"MATCH {', '.join(nodes)} RETURN n0.doc_id, count(*) AS n"


def _all_to_all(count: int, edge: str = "--", label: str = "") -> str:
    edges = (f"(n{one}{label}){edge}(n{other}{label})" for one in range(count) for other in range(one))
    return f"MATCH {', '.join(edges)} RETURN n0.doc_id LIMIT 1"


def _ring(count: int) -> str:
    return _chain(count).replace(" RETURN", "--(n0) RETURN")


def _grown(steps: int, copies: int, kept: str = "{}", joined: str = " + ") -> str:
    """Each WITH repeats the result of the previous one."""
    first, again = (kept.format(joined.join([one] * copies)) for one in ("c.text", "t"))
    parts = (f"MATCH (d{number}:Document) WITH i, {again} AS t LIMIT 1" for number in range(steps))
    return f"MATCH (c:Chunk) WITH c.doc_id AS i, {first} AS t LIMIT 1 {' '.join(parts)} RETURN i, size(t) AS n"


def _where(sign: str, count: int, condition: str = "c.start = {}") -> str:
    return f"MATCH (c:Chunk) WHERE {sign.join(condition.format(n) for n in range(count))} RETURN c.doc_id"


def _in_part(number: int) -> str:
    """A node with a label from the sixth on."""
    return f"(n{number}{_ENTITY if number > 4 else ''})"


_RELATES, _MENTIONS, _ENTITY = "-[:RELATES]-", "-[:MENTIONS]->", ":Entity"
_MANY = (9, 12, 16, 20, 25, 30)
BOMBS = (
    *(_star(count) for count in (6, *_MANY)),
    *(_star(count, _MENTIONS, _ENTITY) for count in _MANY),
    *(_star(count, more=" MATCH ") for count in _MANY),
    *(_star(count, more=" OPTIONAL MATCH ") for count in _MANY),
    *(_chain(count) for count in (6, 8, 10, 14, 24, 40)),
    *(_chain(count, _RELATES, _ENTITY) for count in (10, 14, 20, 24)),
    *(_ring(count) for count in (4, 6, 8, 10, 20)),
    *(_apart(count) for count in _MANY),
    *(_apart(count, _ENTITY) for count in (*_MANY, 40)),
    *(_all_to_all(count) for count in (3, 4, 5, 6, 8)),
    *(_all_to_all(count, _RELATES, _ENTITY) for count in (5, 6, 7, 8)),
    *(_grown(steps, copies) for steps, copies in ((6, 2), (7, 3), (4, 10), (7, 10))),
    *(_grown(steps, copies, "[{}]", ", ") for steps, copies in ((6, 2), (7, 3), (4, 10), (7, 10))),
    *(_grown(steps, 3, "collect({})", " + ") for steps in (4, 7)),
    *(_where(" XOR ", count) for count in (10, 16, 20, 26)),
    *(
        f"MATCH (a:Entity)-[:RELATES*{length}]-(b:Entity) RETURN a.entity_id"
        for length in ("", "1..30", "..9", "3")
    ),
    *(
        f"MATCH p = {name}((a:Entity)-[*]-(b:Entity)) RETURN a.entity_id, length(p)"
        for name in ("shortestPath", "allShortestPaths")
    ),
    " UNION ALL ".join(["MATCH (c:Chunk), (d:Chunk), (e:Chunk) RETURN c.doc_id"] * 20),
    "MATCH (c:Chunk) " + "CALL { WITH c MATCH (d:Chunk) RETURN d } " * 10 + "RETURN c.doc_id",
    "MATCH (c:Chunk) WHERE " + "EXISTS { MATCH (d:Chunk) WHERE " * 10 + "true" + " }" * 10 + " RETURN c.doc_id",
    "MATCH (c:Chunk) WHERE " + " AND ".join(["(c)--()--()--()"] * 10) + " RETURN c.doc_id",
    "MATCH (c:Chunk) RETURN c.doc_id, " + "[(c)--(n) | " * 6 + "1" + "]" * 6,
    "MATCH (c:Chunk) RETURN c.doc_id, " + "[x IN [1, 2, 3] | " * 9 + "1" + "]" * 9,
    "MATCH (c:Chunk) RETURN c.doc_id, reduce(t = c.text, x IN range(1, 40) | t + t)",
    "UNWIND range(1, 100000000) AS x UNWIND range(1, 100000000) AS y MATCH (c:Chunk) RETURN c.doc_id, x, y",
    "UNWIND range(1, 100000000) AS x WITH collect(x) AS l MATCH (c:Chunk) RETURN c.doc_id, l",
    "MATCH (c:Chunk) RETURN c.doc_id, range(1, 1000000000)",
    "MATCH (c:Chunk) RETURN c.doc_id, '" + "x" * 1_000_000 + "'",
    "MATCH (c:Chunk) RETURN c.doc_id, " + "9" * 400,
    "MATCH (c:Chunk) WHERE c.start IN [" + ", ".join(map(str, range(1000))) + "] RETURN c.doc_id",
    "MATCH (c:Chunk) RETURN c.doc_id, " + "[" * 40 + "1" + "]" * 40,
    "MATCH (c:Chunk) RETURN c.doc_id, " + "toLower(" * 40 + "c.text" + ")" * 40,
    "MATCH (c:Chunk) RETURN c.doc_id, " + "CASE WHEN true THEN " * 60 + "1" + " END" * 60,
)
"""Short, but too large to plan or to store. All are rejected."""
AT_THE_BOUND = (
    *(
        f"MATCH (a:Entity){match}{match.join(f'(a){_RELATES}{_in_part(n)}' for n in range(7))} "
        "RETURN a.entity_id, a.doc_id LIMIT 1"
        for match in (", ", " MATCH ", " OPTIONAL MATCH ")
    ),
    f"MATCH {_RELATES.join(map(_in_part, range(8)))} RETURN n7.entity_id, n0.doc_id LIMIT 1",
    f"MATCH {_RELATES.join(map(_in_part, range(8)))}{_RELATES}(n0) RETURN count(*) AS n, max(n0.doc_id)",
    "MATCH (c:Chunk), " + ", ".join(f"(c)--(n{n}:Entity)" for n in range(5)) + " RETURN c.doc_id, count(*) AS n",
    _star(7, _MENTIONS, _ENTITY),
    _star(2),
    _chain(3),
    _all_to_all(4, _RELATES, _ENTITY),
    _apart(8, _ENTITY),
    _apart(5),
    _apart(8, _ENTITY).replace("count(*) AS n", "collect(n1.name), collect(n2.name)"),
    "MATCH (a:Entity), (b:Entity), (c:Entity), (d:Chunk) RETURN DISTINCT a.name + b.name + c.name + d.text AS x, "
    "d.doc_id ORDER BY x DESC SKIP 999999",
    "MATCH (a:Chunk), (b:Chunk), (c:Chunk) RETURN a.text + b.text + c.text AS x, a.doc_id ORDER BY x SKIP 999999",
    "MATCH (a:Chunk), (b:Chunk), (c:Chunk) RETURN DISTINCT [a.text, b.text, c.text] AS x, a.doc_id SKIP 999999",
    "MATCH (a:Chunk) WITH collect(a.text) AS l MATCH (b:Chunk), (c:Chunk) RETURN collect([l, b.text]), c.doc_id",
    "MATCH (a:Entity), (b:Entity), (c:Chunk) WHERE toLower(a.name) + b.name CONTAINS toLower(c.text) + 'x' "
    "RETURN c.doc_id",
    _grown(0, 35).replace("RETURN i, ", "RETURN i, " + " + ".join(["t"] * 35) + ", "),
    _grown(0, 35, "[{}]", ", ").replace("RETURN i, ", "RETURN i, [" + ", ".join(["t"] * 35) + "], "),
    _where(" OR ", 40),
    _where(" OR ", 16, "(c.start = {0} AND c.text = 'x{0}')"),
    _where(" AND ", 16, "(c.start = {0} OR c.text = 'x{0}')"),
    _where(" <= ", 70, "c.start"),
    _where("", 1, "NOT " * 200 + "c.start = {}"),
    _where("", 1, "c.start IN [" + ", ".join(map(str, range(130))) + "]"),
    "MATCH (c:Chunk) RETURN c.doc_id, " + " + ".join(["c.text"] * 60),
    "MATCH (c:Chunk) RETURN c.doc_id, " + "toLower(" * 8 + "c.text" + ")" * 8,
)
"""As large as allowed: a database plans each, and answers or ends it in time."""
