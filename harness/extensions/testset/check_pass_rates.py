"""How many candidates each check let through."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from harness.extensions.testset.types import Candidate, CheckName

_ASKS: dict[CheckName, str] = {
    "written": "the model wrote a question that can be read",
    "form": "it is a question with a short answer",
    "self_contained": "it stands alone (no 'this report')",
    "about": "its documents speak of what it names",
    "quotes": "its quotes are in the documents",
    "left_out": "what it says is missing is not there",
    "distinct": "it was not asked before",
    "follows": "its answer follows from the quotes",
    "closed_book": "and not without them",
    "needs_both": "and not from one document alone",
    "not_found": "nothing that is found answers it",
}


@dataclass(frozen=True)
class CheckShare:
    """Of one check."""

    name: str
    asks: str
    reached: int
    passed: int
    untold: int
    """Candidates that it could not judge and let pass."""

    @property
    def share(self) -> float:
        """Of those that came to it."""
        return (self.passed + self.untold) / self.reached


def shares_of(candidates: Sequence[Candidate]) -> list[CheckShare]:
    """Of each check that any candidate came to, in their order."""
    names: tuple[CheckName, ...] = get_args(CheckName)
    found = []
    for name in names:
        verdicts = [check.passed for one in candidates for check in one.checks if check.name == name]
        if verdicts:
            found.append(CheckShare(name, _ASKS[name], len(verdicts), verdicts.count(True), verdicts.count(None)))
    return found


def kept_lines(candidates: Sequence[Candidate], wanted: Mapping[str, int]) -> Iterator[str]:
    """A line for each kind: how many there are of how many."""
    for kind, number in wanted.items():
        written = [one for one in candidates if one.kind == kind]
        kept = sum(one.survives for one in written)
        yield f"{kind}: {kept} of {number} wanted, from {len(written)} candidates"
