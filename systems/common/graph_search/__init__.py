"""Searches a stored knowledge graph for a question: entities, triplets and passages."""
