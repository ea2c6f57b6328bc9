"""Cypher that nobody should run: what writes, reads files, sends requests, hangs, or hides what it does."""

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
"""None of them is run."""
HEAVY = (
    "MATCH (a:Entity), (b:Entity), (c:Entity), (d:Entity), (z:Chunk) "
    "RETURN count(*) AS n, count(DISTINCT z.chunk_id)",
    "MATCH (a:Chunk), (b:Chunk), (c:Chunk) RETURN collect(a.text), max(b.chunk_id), collect(c.text)",
    "MATCH (a:Entity)-[:RELATES]-(b)-[:RELATES]-(c)-[:RELATES]-(d)-[:RELATES]-(e)-[:RELATES]-(f), (z:Chunk) "
    "RETURN count(*) AS n, max(z.chunk_id)",
)
"""Allowed, and more than a database should be left alone with."""
TWO_WITH = "MATCH (d:Document) WITH d WITH d.doc_id AS doc_id RETURN doc_id"
"""Harmless; the grammar does not know one WITH right after another."""
HARMLESS = (
    "MATCH (e:Entity)<-[:MENTIONS]-(c:Chunk) WITH e, count(c) AS n "
    "MATCH (e)<-[:MENTIONS]-(c:Chunk) WHERE n > 0 RETURN e.name, n, c.chunk_id",
    "MATCH (d:Document) WHERE d.title = 'CREATE (n) DELETE n' OR d.doc_id <> '' RETURN d.doc_id",
    "MATCH (d:Document) RETURN d.title AS created, d.doc_id // DELETE d",
    "match (d:Document) return d.doc_id as set_of_ids limit 5",
)
"""What only looks as if it did harm: each of them is run, and finds something."""
