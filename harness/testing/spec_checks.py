"""Checks for the specs of systems and evaluators."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from harness.protocols import EvaluatorSpec, Params, SystemSpec


def check_presentation(
    spec: SystemSpec | EvaluatorSpec, registered: str, *, listed: str, why_version: str
) -> None:
    """A registered name, a version, and a one-line summary for `list <listed>`."""
    assert spec.name == registered, f"registered as '{registered}', its spec says '{spec.name}'"
    assert spec.version, f"{why_version}: name one"
    assert spec.summary.strip(), f"the summary is what `rag-harness list {listed}` shows: write one"
    assert "\n" not in spec.summary, f"the summary must be one line: {spec.summary!r}"


def check_params(params: type[Params]) -> None:
    """Missing parameters have defaults; misspelled ones are errors."""
    assert issubclass(params, Params), f"{params.__name__} must be a harness.protocols.Params"
    defaults = params.model_validate({})
    written = params.model_validate(defaults.model_dump(mode="json"))
    assert written == defaults, "parameters written to a file and read again must be the same"
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        params.model_validate({"no such parameter": 1})
