"""From chunks to entities and triplets: three extractors behind one contract, and one normalisation."""
