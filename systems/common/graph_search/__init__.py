"""Searching a stored knowledge graph for a question: entities, triplets and passages. What kg and others share."""
