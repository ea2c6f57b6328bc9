"""Texts to entities and triplets: the nouns, one spelling for one name, rules on a parse, a model's reading."""
