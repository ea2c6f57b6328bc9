"""A benchmark harness that compares RAG architectures. See ARCHITECTURE.md for the rooms."""

__version__ = "0.1.0"
