"""The parameters of a run; the index is defined in `systems.common.passages`."""

from typing import Literal

from pydantic import Field

from systems.common.search import SearchParams


class AnswerParams(SearchParams):
    """Parameters that do not change the index."""

    rounds: int = Field(5, ge=1, le=20)
    """Maximum retrieval rounds per query; 1 is naive RAG with k_per_round passages."""
    k_per_round: int = Field(7, ge=1, le=100)
    """Passages per round, including earlier ones. Not `top_k`, which would also set naive's."""
    max_questions: int = Field(3, ge=1, le=10)
    """Maximum sub-questions that extend the query per round; with `prompts=thesis` only asked for, as there."""
    sub_questions: Literal["latest", "cumulative"] = "latest"
    """Which sub-questions a search and the next prompt add to the question: `latest`: a search those of the last
    round, the prompt none; `cumulative`: both those of all rounds (thesis).
    """
    stop: Literal["nothing_missing", "no_new_passage", "never"] = "nothing_missing"
    """What ends the search before the last round: `no_new_passage`: a round that retrieves nothing new (thesis);
    `nothing_missing`: also a reply without a sub-question; `never`: nothing.
    """
    ask_last: bool = False
    """Whether the model is also asked after the last round, though nothing is searched with its reply (thesis)."""
