"""The parameters of a run; the graph is defined in `systems.common.graph_index`."""

from typing import Literal

from pydantic import Field

from harness.core.errors import ConfigError
from harness.protocols import BY_GENERATOR
from systems.common.graph_index import GraphIndexParams
from systems.common.graph_retrieval import GraphSearchParams, check_search

Pick = Literal["entailment", "cosine", "chunk"]
Source = Literal["graph", "direct"]


class AnswerParams(GraphSearchParams):
    """Answer parameters, which do not change the index: those of kg, and those of the evidence."""

    evidence: Source = "graph"
    """`graph`: sentences to which the graph leads (GE-Chat); `direct`, its baseline: the sentences of the contexts
    that the model itself names.
    """
    steps: Literal["after_answer", "with_answer"] = "after_answer"
    """`after_answer`: the answer is that of kg, and its steps (or the named sentences) are a second call;
    `with_answer`: both in one reply, as published.
    """
    max_steps: int = Field(3, ge=1, le=20)
    """Maximum statements per answer, each with its own evidence; for `direct`, maximum sentences."""
    step_entities: int = Field(5, ge=1, le=100)
    """Maximum entities of the graph that a step is matched to."""
    step_hops: int = Field(2, ge=1, le=4)
    """Maximum distance from these entities in the graph (n of the paper)."""
    step_chunks: int = Field(3, ge=1, le=100)
    """Number of passages, with the statements found there, in which a sentence is searched."""
    step_sentences: int = Field(6, ge=1, le=1000)
    """Number of their sentences nearest to the step that the entailment model reads, of all passages or of each as
    `sentence_per` says.
    """
    sentence_per: Literal["step", "chunk"] = "step"
    """The best sentence of all passages of a step, or one of each passage, as published."""
    pick: Pick = "entailment"
    """`entailment`: the sentence with the largest F (GE-Chat); for comparison `cosine`: the sentence nearest to
    the step, and `chunk`: the whole first passage.
    """
    entailment: str = Field(BY_GENERATOR, min_length=1)
    """A model of natural language inference: a folder, or a name on the Hugging Face hub; `generator`: the log
    probabilities of a one-letter reply of the generator.
    """
    length_weight: float = Field(0.5, ge=0, le=1)
    """Weight of the sentence's length in F (beta of the paper); the rest is the weight of entailment (alpha)."""
    length: Literal["share", "characters"] = "share"
    """A sentence's length in F: its share of the longest sentence of its passage, or its characters, as published,
    which outweigh any probability.
    """

    @property
    def needs_statements(self) -> bool:
        return super().needs_statements or self.evidence == "graph"

    @property
    def inference(self) -> str | None:
        """The model of natural language inference, None if it is not asked."""
        return self.entailment if self.evidence == "graph" and self.pick == "entailment" else None


def check(index: GraphIndexParams, answer: AnswerParams) -> None:
    check_search(index, answer)
    if answer.evidence == "graph" and not index.statements:
        raise ConfigError(
            "evidence matches steps to the sentences of the graph, but index.statements=false stores none",
            "leave index.statements out",
        )
