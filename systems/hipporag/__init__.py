"""HippoRAG, personalised PageRank over a knowledge graph: see README.md in this folder."""
