"""A benchmark harness that compares RAG architectures. See ARCHITECTURE.md for the rooms."""

from harness.core.process_environment import turn_off_usage_data

__version__ = "0.1.0"

turn_off_usage_data()
