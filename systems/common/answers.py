"""The answer from the contexts, with the prompt that all systems share or those of Ramadan, master's thesis, KTH
2025, which every system of the thesis offers.

The thesis's listings are followed in roles, order of parts, rules, fields and form of the reply. The sentences are
ours, so published figures may differ by the wording.

Each system has its other prompts where it asks them. In all of them the constant part comes first, so that
servers can cache it, and the instruction is repeated after the material, which small models need for a correct
answer. Every list and string of a JSON reply is bounded: a small model may run on until its token limit, and the
reply is lost.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from harness.core.records import AnswerStyle, Context, Places, Prediction, Step
from harness.llm_utils.answer_contract import answer_messages, generate
from harness.protocols import Message, Params, Runtime

Prompts = Literal["shared", "thesis"]


class PromptParams(Params):
    prompts: Prompts = "shared"
    """`shared`: those of all systems, with the answer in the style of the data set; `thesis`: in the form of the
    thesis, which asks for a word or an entity whatever the style. Compare systems with the same prompts only.
    """


_ANSWER_RULES = (
    "You are given passages from several sources and a question about them. Take the answer from the passages. "
    "Write ONLY the word or entity that is the answer. Where the passages do not say enough, write only "
    "'Insufficient Information'. Where the question can be answered with yes or no, write only 'yes' or 'no' and "
    "give no reason."
)


def thesis_answer_messages(question: str, contexts: Sequence[Context]) -> list[Message]:
    """Listings 4.5 and 4.6: the contexts as they are, one below the other, then the question."""
    found = "\n".join(context.text for context in contexts)
    return [Message("system", _ANSWER_RULES), Message("user", f"{found}\n\nQuestion:{question}\nAnswer:")]


def prompt_of(prompts: Prompts, question: str, contexts: Sequence[Context], style: AnswerStyle) -> list[Message]:
    if prompts == "thesis":
        return thesis_answer_messages(question, contexts)
    return answer_messages(question, contexts, style)


async def answer_by(runtime: Runtime, prompts: Prompts, question: str, contexts: Sequence[Context]) -> str | None:
    """One generation from the contexts; None without a generator."""
    if prompts == "thesis":
        return await generate(runtime, thesis_answer_messages(question, contexts))
    return await runtime.answer(question, contexts)


class Found(NamedTuple):
    """What was found for a question: for the generator, and for the record of the query."""

    contexts: tuple[Context, ...] = ()
    """In the order in which the generator sees them."""
    ranking: Places | None = None
    """The ranking of passages, including those below the contexts; None: nothing was ranked."""
    trace: tuple[Step, ...] = ()
    """How it was found."""
    shown: str = ""
    """The contexts as one text, as a wrapped library words them; empty otherwise."""

    def prediction(self, answer: str | None) -> Prediction:
        return Prediction(answer=answer, contexts=self.contexts, trace=self.trace, retrieved=self.ranking)


async def predict(runtime: Runtime, params: PromptParams, question: str, found: Found) -> Prediction:
    """One generation from the contexts, with how they were found."""
    return found.prediction(await answer_by(runtime, params.prompts, question, found.contexts))
