"""The parameters of a run; the index is defined in `systems.common.passages`."""

from typing import Literal, Self

from pydantic import Field, model_validator

from harness.protocols import EMBEDS, NO_ROLE, Role
from systems.common.search import Search, SearchParams


class AnswerParams(SearchParams):
    """Parameters that do not change the index."""

    top_k: int = Field(10, ge=1, le=100)
    """Passages of a search, which are graded together."""
    grader: Literal["rules", "model"] = "rules"
    """Who grades passages and strips, and rewrites the question: `rules`: cosines to the question, and its names
    and content words; `model`: the generator.
    """
    correct_from: float = Field(0.6, ge=-1, le=1)
    """`rules`: a passage whose best strip has at least this cosine is correct."""
    incorrect_below: float = Field(0.4, ge=-1, le=1)
    """`rules`: a passage whose best strip has a lower cosine is incorrect; between the two it is ambiguous."""
    strip_from: float = Field(0.3, ge=-1, le=1)
    """`rules`: lowest cosine of a strip that the generator sees."""
    strip_sentences: int = Field(3, ge=1, le=20)
    """Sentences of a strip."""
    search_again: Search = "bm25"
    """How the rewritten question is searched, as `search`."""

    @property
    def second(self) -> Self:
        """The parameters of the second search."""
        return self.model_copy(update={"search": self.search_again})

    @property
    def needs_vectors(self) -> bool:
        """See `SearchParams`."""
        return self.is_dense or self.second.is_dense

    @property
    def search_roles(self) -> frozenset[Role]:
        """The models of both searches, and of the rules."""
        return EMBEDS if self.grader == "rules" or self.is_dense or self.second.is_dense else NO_ROLE

    @model_validator(mode="after")
    def _bounds_are_in_order(self) -> Self:
        if self.incorrect_below > self.correct_from:
            raise ValueError("incorrect_below must not be larger than correct_from")
        return self
