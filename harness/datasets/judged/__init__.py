"""Test collections: documents, queries, and which documents are relevant to which. No facts, and no answers."""
