"""Stores of a knowledge graph: Ladybug in the process, or a Neo4j server, with one contract."""
