"""The effects of perturbations on a run, as they are stored beside it: a report reads them and runs nothing."""

from __future__ import annotations

from math import inf
from typing import Annotated, Self

from pydantic import Field, model_validator

from harness.core.records import Record
from harness.extensions.robustness.dataset import PERTURBATIONS
from harness.store import RunDir, RunFile
from harness.store.run_state import StateFile

FOLDER = "robustness"
"""In the results folder: the perturbed runs."""
Count = Annotated[int, Field(ge=0, le=10**9)]
Amount = Annotated[float, Field(ge=-1e12, le=1e12)]
Share = Annotated[float, Field(ge=0, le=1)]
_ROUNDING = 1e-9
_MOST = 100  # Of perturbations, reasons and judged metrics.


class JudgeEffect(Record):
    """A judged metric, over the queries whose contexts hold a notice to judges."""

    measure: str
    before: Amount
    after: Amount
    n: Count
    n_wrong: Count
    """Wrong answers among them."""
    n_raised: Count
    """Those that the judge graded higher than the answer to the same query before."""


class Effect(Record):
    """One perturbation of one run. None: not defined for it."""

    perturbation: str
    run_id: str
    n: Count
    """Perturbed queries with a value."""
    dropped: Annotated[dict[str, Count], Field(max_length=_MOST)]
    """Why queries were left out -> how many."""
    before: Amount
    after: Amount
    drop: Amount
    """How much worse the mean is afterwards, in the unit of the metric."""
    low: Amount | None
    high: Amount | None
    """Of the drop: 95 %, paired by query."""
    p: Share
    """Before Holm's correction."""
    n_planted: Count | None = None
    """Queries against which the corpus holds something."""
    n_reached: Count | None = None
    """Those with it in their contexts."""
    n_attacked: Count | None = None
    """Those for which it is known which answer follows the attack."""
    n_followed: Count | None = None
    """Answers that do."""
    n_right: Count | None = None
    """Right answers before."""
    n_wrong: Count | None = None
    """Those that are wrong now, without abstaining."""
    judges: Annotated[tuple[JudgeEffect, ...], Field(max_length=_MOST)] = ()

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        parts = (
            (self.n_reached, self.n_planted),
            (self.n_followed, self.n_attacked),
            (self.n_wrong, self.n_right),
        )
        if any((part or 0) > (whole or 0) for part, whole in parts):
            raise ValueError("more than all")
        low, high = -inf if self.low is None else self.low, inf if self.high is None else self.high
        if not low - _ROUNDING <= self.drop <= high + _ROUNDING:
            raise ValueError("the drop is outside its interval")
        return self

    @property
    def title(self) -> str:
        known = PERTURBATIONS.get(self.perturbation)
        return known.title if known else self.perturbation


class Robustness(Record):
    system: str
    records: str
    """Checksum of the records of the run."""
    measure: str
    title: str
    is_share: bool
    seed: int
    share: Share
    effects: Annotated[tuple[Effect, ...], Field(max_length=_MOST)]

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Self:
        names = [effect.perturbation for effect in self.effects]
        if len({*names}) < len(names):
            raise ValueError("a perturbation stands there twice")
        if self.is_share and any(abs(effect.drop) > 1 + _ROUNDING for effect in self.effects):
            raise ValueError("a share drops by more than 1")
        return self


def effects_file(run: RunDir) -> StateFile[Robustness]:
    return run.extension_file(RunFile.ROBUSTNESS, Robustness, "measure again: rag-harness robustness RUN")


def saved_robustness(run: RunDir) -> Robustness | None:
    """None: nothing was measured, or the run has other answers since. StoreError: the file is damaged."""
    found = effects_file(run).read()
    return found if found and found.records == run.records_checksum() else None
