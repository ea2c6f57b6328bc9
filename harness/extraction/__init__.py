"""Extracts entities and triplets from texts: with rules on a parse, or with a model."""
