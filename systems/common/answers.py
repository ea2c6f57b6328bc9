"""The answer from the contexts, with the prompt that all systems share or those of Ramadan, master's thesis, KTH
2025, which every system of the thesis offers.

Listings 4.6, 4.8, 4.12 and 4.13 are followed in roles, order of parts, rules, fields and form of the reply. The
sentences are ours, so published figures may differ by the wording.

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
_SUB_QUESTION_RULES = """\
Read the initial question and the passages that were retrieved for it so far. Then write 2-{most} narrower \
questions, one on a line, each of which
1. asks for something that the passages leave open
2. makes the answer to the initial question more complete
3. is about one thing and names it"""
SUB_QUESTION_TOKENS = 300
"""Maximum tokens of the reply; the thesis sets no limit."""
_REPORT_ROLE = (
    "You answer a question about a collection of documents from the reports of several analysts, each of whom "
    "read another part of it."
)
_TABLE_ROLE = "You answer a question about a collection of documents from tables of what it says."
_GOAL = """\
---Goal---
Write the **one word or entity** that answers the question, as the {material} give it.
If the question asks for yes or no, write **yes** or **no** alone, without a reason.
{order}
Before you answer, set aside what has no bearing on the question. Keep to the question and be brief.
Say nothing that the {material} give no evidence for: write **Insufficient information** instead."""
_REPORT_ORDER = "The **most important report comes first**; rely on those that say most about the question."
_TABLE_ORDER = "Rely on the rows that say most about the question."


def thesis_answer_messages(question: str, contexts: Sequence[Context]) -> list[Message]:
    """Listings 4.5 and 4.6: the contexts as they are, one below the other, then the question."""
    found = "\n".join(context.text for context in contexts)
    return [Message("system", _ANSWER_RULES), Message("user", f"{found}\n\nQuestion:{question}\nAnswer:")]


def thesis_sub_question_messages(query: str, contexts: Sequence[Context], most: int) -> list[Message]:
    """Listing 4.8, with at most `most` questions."""
    found = "\n".join(context.text for context in contexts)
    task = f"Initial question:{query}\n\nPassages so far: {found}\n\nSub-questions:"
    return [Message("system", _SUB_QUESTION_RULES.format(most=max(most, 2))), Message("user", task)]


def read_sub_questions(reply: str) -> list[str]:
    """Every line of the reply, as in Listing 4.8, but empty ones."""
    return [line for line in reply[: 4 * SUB_QUESTION_TOKENS].strip().split("\n") if line.strip()]


def report_messages(question: str, reports: str) -> list[Message]:
    """Listing 4.12: answers from the points of a global search, the question alone as the user's message.

    The listing does not show where the reports stand; here they follow under a heading, as in nano-graphrag.
    """
    goal = _GOAL.format(material="reports", order=_REPORT_ORDER)
    return [
        Message("system", f"{_REPORT_ROLE}\n\n{goal}\n\n---Analyst Reports---\n{reports}"),
        Message("user", question),
    ]


def table_messages(question: str, tables: str) -> list[Message]:
    """The same rules for the tables of a local search, whose prompt the thesis does not print."""
    goal = _GOAL.format(material="tables", order=_TABLE_ORDER)
    return [
        Message("system", f"{_TABLE_ROLE}\n\n{goal}\n\n---Data tables---\n{tables}"),
        Message("user", question),
    ]


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
