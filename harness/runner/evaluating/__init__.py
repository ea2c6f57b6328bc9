"""Runs to scores: evaluators planned, their models opened, every judgement charged."""
