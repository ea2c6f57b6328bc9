"""How many candidates passed each check."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from harness.extensions.testset.types import Candidate, CheckName

_ASKS: dict[CheckName, str] = {
    "written": "the model wrote a readable question",
    "form": "it is a question with a short answer",
    "self_contained": "it can be understood alone (no 'this report')",
    "about": "its documents mention what it names",
    "quotes": "its quotes are in the documents",
    "left_out": "the missing detail is not in its documents",
    "distinct": "it is not a duplicate",
    "follows": "its answer follows from the quotes",
    "closed_book": "its answer cannot be guessed without the quotes",
    "needs_both": "its answer does not follow from one document alone",
    "not_found": "no retrieved passage answers it",
}


@dataclass(frozen=True)
class CheckShare:
    """How many candidates passed one check."""

    name: str
    asks: str
    reached: int
    passed: int
    undecided: int
    """Candidates that it could not judge and let pass."""

    @property
    def share(self) -> float:
        """The share that passed, of the candidates that reached this check."""
        return (self.passed + self.undecided) / self.reached


def shares_of(candidates: Sequence[Candidate]) -> list[CheckShare]:
    """For each check that any candidate reached, in the order of the checks."""
    names: tuple[CheckName, ...] = get_args(CheckName)
    found = []
    for name in names:
        verdicts = [check.passed for one in candidates for check in one.checks if check.name == name]
        if verdicts:
            found.append(CheckShare(name, _ASKS[name], len(verdicts), verdicts.count(True), verdicts.count(None)))
    return found


def kept_lines(candidates: Sequence[Candidate], wanted: Mapping[str, int]) -> Iterator[str]:
    """One line per kind: how many questions were kept, of how many wanted."""
    for kind, number in wanted.items():
        written = [one for one in candidates if one.kind == kind]
        kept = sum(one.survives for one in written)
        yield f"{kind}: {kept} of {number} wanted, from {len(written)} candidates"
