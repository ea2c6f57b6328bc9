"""Stores of a knowledge graph: Ladybug in the process, Neo4j on a server, with one contract."""
