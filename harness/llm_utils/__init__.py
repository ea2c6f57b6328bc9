"""Asking a model for JSON, and for many things side by side; below systems and evaluators, which both do."""
