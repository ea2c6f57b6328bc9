"""Where a knowledge graph is kept: Ladybug in the process, Neo4j on a server, one contract."""
