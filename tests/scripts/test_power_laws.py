"""What growth measurements say of points whose law is known."""

import importlib
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "scripts" / "bench"


@pytest.fixture
def laws(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("power_laws")


def test_a_power_law_is_found_again_with_an_interval_that_holds_it_and_said_of_a_million(laws: Any) -> None:
    at = (10, 40, 160, 609)
    noise = (1.05, 0.96, 1.03, 0.97)
    exact = laws.fitted(laws.Points("kg", "s", "documents", at, tuple(3.0 * one**1.2 for one in at)))
    assert exact.exponent == pytest.approx(1.2)
    assert exact.far == pytest.approx(3.0 * 1_000_000**1.2)
    rough = [3.0 * one**1.2 * factor for one, factor in zip(at, noise, strict=True)]
    fit = laws.fitted(laws.Points("kg", "s", "documents", at, rough))
    assert fit.interval[0] < 1.2 < fit.interval[1]
    assert fit.far_interval[0] < 3.0 * 1_000_000**1.2 < fit.far_interval[1]
    assert fit.far_interval[1] / fit.far_interval[0] > 2


def test_two_points_have_an_exponent_and_no_interval_and_one_has_neither(laws: Any) -> None:
    fit = laws.fitted(laws.Points("kg", "s", "documents", (10, 40), (1.0, 4.0)))
    assert fit.exponent == pytest.approx(1.0)
    assert (fit.interval, fit.far_interval) == (None, None)
    assert laws.fitted(laws.Points("kg", "s", "documents", (10,), (1.0,))) is None
