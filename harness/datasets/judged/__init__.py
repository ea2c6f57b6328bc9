"""Test collections: documents, queries and relevance judgements, without facts or answers."""
