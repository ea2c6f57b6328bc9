"""Test questions with answers and evidence: written from documents by a model, checked, reviewed by a person."""
