"""The parameters of a run; the graph is defined in `systems.common.graph_index`."""

from typing import Literal

from pydantic import Field

from harness.protocols import BY_GENERATOR
from systems.common.graph_search.params import GraphSearchParams

Pick = Literal["entailment", "cosine", "chunk"]


class AnswerParams(GraphSearchParams):
    """Parameters that do not change the index: how an answer is found, as in kg, and how its evidence is."""

    max_steps: int = Field(3, ge=1, le=20)
    """Statements on which an answer rests, each with evidence of its own, at most."""
    step_entities: int = Field(5, ge=1, le=100)
    """Entities of the graph that a step is matched to."""
    step_hops: int = Field(2, ge=1, le=4)
    """How far from them the graph is walked for statements like the step (n of the paper)."""
    step_chunks: int = Field(3, ge=1, le=100)
    """Passages, with the statements found there, in which a sentence is searched."""
    step_sentences: int = Field(6, ge=1, le=1000)
    """Of their sentences, how many of those nearest to the step are read by the model of entailment."""
    pick: Pick = "entailment"
    """`entailment`: the sentence with the largest F (GE-Chat); `cosine`: the one nearest to the step, and `chunk`:
    the whole of the first passage, to hold it against."""
    entailment: str = Field(BY_GENERATOR, min_length=1)
    """A model of natural language inference: a folder that holds one, or a name on the Hugging Face hub;
    `generator`: by the log probabilities of one letter of the generator's reply."""
    length_weight: float = Field(0.5, ge=0, le=1)
    """How much of F is how short a sentence is, the rest is entailment."""
