"""Evaluation of runs: plans evaluators, opens their models and meters their calls."""
