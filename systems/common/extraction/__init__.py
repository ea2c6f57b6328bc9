"""Extracts entities and triplets from chunks: three extractors with one contract and one normalisation."""
