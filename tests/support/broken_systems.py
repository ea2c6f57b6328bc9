"""A system that keeps the contract, and many that each break one clause; installed as an external package."""

import asyncio
import fcntl
import json
import os
import re
import socket
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import psutil
from pydantic import ConfigDict

from harness.core.records import Context, Document, Expected, ExpectedCalls, IndexStats, Prediction, Query, Work
from harness.llm_utils.answer_contract import answer_messages
from harness.protocols import EMBEDS, GENERATES, NO_ROLE, Message, Params, Runtime, SystemSpec, Workload

_HELD: list[TextIO] = []
_REMEMBERED: dict[str, bool] = {}


class Whole:
    """Documents that share a word with the question."""

    version = "1"
    index_params: type[Params] = Params
    answer_params: type[Params] = Params
    index_roles = NO_ROLE
    answer_roles = GENERATES
    expect: Any = None

    def __init__(self, _index: Params, _answer: Params, runtime: Runtime) -> None:
        self.runtime = runtime
        self.path = runtime.index_dir / "texts.json"
        self.texts: list[tuple[str, str]] = []
        self.asked: Counter[str] = Counter()

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        self.path.write_text(json.dumps([(document.doc_id, document.text) for document in corpus]))
        return IndexStats(documents=len(corpus))

    async def load(self) -> None:
        self.texts = json.loads(self.path.read_text())

    async def answer(self, query: Query) -> Prediction:
        if self.asked[query.text] == 1:
            self.before_second_answer()
        self.asked[query.text] += 1
        contexts = self.retrieved(query.text)
        return Prediction(answer=await self.generated(query.text, contexts), contexts=tuple(contexts))

    async def generated(self, question: str, contexts: Sequence[Context]) -> str | None:
        said = await self.runtime.answer(question, contexts)
        return said and said + "!" * self.differs(question)

    def differs(self, _question: str) -> bool:
        """Whether the answer is another one than that of the model."""
        return False

    def retrieved(self, question: str) -> list[Context]:
        wanted = set(re.findall(r"\w{3,}", question.lower()))
        shared = [
            (len(wanted & set(re.findall(r"\w{3,}", text.lower()))), *one)
            for one in self.texts
            for text in one[1:]
        ]
        best = sorted(shared, key=lambda one: -one[0])[:3]
        return [Context(text=text, doc_ids=(doc_id,), score=float(n)) for n, doc_id, text in best if n]

    def before_second_answer(self) -> None:
        """Nothing happens before a query is answered again."""

    def close(self) -> None:
        """Nothing is open."""


class NoVersion(Whole):
    version = ""


class Loose(Params):
    model_config = ConfigDict(extra="allow")


class LooseParams(Whole):
    answer_params = Loose


class Twice(Params):
    k: int = 3


class SameParam(Whole):
    index_params = answer_params = Twice


class Miscounts(Whole):
    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        stats = await super().index(corpus)
        return stats.model_copy(update={"documents": min(stats.documents, 20)})


class SaysNothing(Whole):
    async def generated(self, question: str, contexts: Sequence[Context]) -> str | None:
        said = await super().generated(question, contexts)
        return said and ""


class RemembersItsBuild(Whole):
    """The process that built the index answers differently."""

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        _REMEMBERED["built"] = True
        return await super().index(corpus)

    def differs(self, _question: str) -> bool:
        return _REMEMBERED.get("built", False)


class RemembersQueries(Whole):
    def differs(self, question: str) -> bool:
        return self.asked[question] == 2


class MixesQueries(Whole):
    async def answer(self, query: Query) -> Prediction:
        self.query = query
        await asyncio.sleep(0)
        return await super().answer(self.query)


class WorstFirst(Whole):
    async def answer(self, query: Query) -> Prediction:
        found = await super().answer(query)
        ours = query.query_id.startswith("demo")
        return found.model_copy(update={"contexts": found.contexts[::-1]}) if ours else found


class HidesContexts(Whole):
    async def answer(self, query: Query) -> Prediction:
        return (await super().answer(query)).model_copy(update={"contexts": ()})


class AnswersAnyway(Whole):
    async def generated(self, question: str, contexts: Sequence[Context]) -> str | None:
        return await super().generated(question, contexts) or "yes"


class NamesTooMany(Whole):
    index_roles = EMBEDS


class OwnStyle(Whole):
    async def generated(self, question: str, contexts: Sequence[Context]) -> str | None:
        chat = self.runtime.chat
        return await chat.complete([Message("user", f"Answer: {question}")]) if chat else None


class EagerWriter(Whole):
    def __init__(self, index: Params, answer: Params, runtime: Runtime) -> None:
        super().__init__(index, answer, runtime)
        (runtime.index_dir / "early").touch()


class ForgetsToClose(Whole):
    """Only if loading fails."""

    async def load(self) -> None:
        log = (self.runtime.index_dir / "log").open("a")
        _HELD.append(log)
        await super().load()
        log.close()


class WritesElsewhere(Whole):
    def before_second_answer(self) -> None:
        (Path.home() / "asked.txt").write_text("yes")


class ReachesOut(Whole):
    def before_second_answer(self) -> None:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", 9), timeout=0.1)


class IndexesElsewhere(Whole):
    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        (Path.home() / "indexed.txt").write_text("yes")
        return await super().index(corpus)


class HoldsFiles(Whole):
    def before_second_answer(self) -> None:
        _HELD.append(self.path.open())


class StaysInPlace(Whole):
    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        (self.runtime.index_dir / "place").write_text(str(self.runtime.index_dir))
        return await super().index(corpus)

    def differs(self, _question: str) -> bool:
        return (self.runtime.index_dir / "place").read_text() != str(self.runtime.index_dir)


class Alone(Whole):
    """The second process answers differently."""

    async def load(self) -> None:
        await super().load()
        self.lock = (self.runtime.index_dir / "lock").open("w")
        self.second = False
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.second = True

    def differs(self, _question: str) -> bool:
        return self.second

    def close(self) -> None:
        if hasattr(self, "lock"):
            self.lock.close()


class RemembersTheFirstAttempt(Whole):
    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        mark = self.runtime.index_dir.parent / "harness" / "attempted"
        attempted = mark.exists()
        mark.parent.mkdir(exist_ok=True)
        mark.touch()
        stats = await super().index(corpus)
        return stats.model_copy(update={"notes": ("attempted",)}) if attempted else stats


class MindsTheDead(Whole):
    """A process that died without closing leaves a mark."""

    async def load(self) -> None:
        await super().load()
        marks = self.runtime.index_dir.glob("open-*")
        self.damaged = not all(psutil.pid_exists(int(mark.name.removeprefix("open-"))) for mark in marks)
        self.mark = self.runtime.index_dir / f"open-{os.getpid()}"
        self.mark.touch()

    def differs(self, _question: str) -> bool:
        return self.damaged

    def close(self) -> None:
        if hasattr(self, "mark"):
            self.mark.unlink()


class LosesSlots(Whole):
    """Loses one of ten slots for each cancelled query."""

    slots = 10

    async def generated(self, question: str, contexts: Sequence[Context]) -> str | None:
        self.slots -= 1
        said = await super().generated(question, contexts)
        self.slots += 1
        return said and said + "!" * (self.slots < 1)


class PlainQueries(Whole):
    async def answer(self, query: Query) -> Prediction:
        if "\x00" in query.text:
            raise ValueError("a control character")
        return await super().answer(query)


class FullDocuments(Whole):
    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        if not all(document.text.strip() for document in corpus):
            raise ValueError("a document without text")
        return await super().index(corpus)


class ShortDocuments(Whole):
    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        if max(len(document.text) for document in corpus) > 500_000:
            raise ValueError("a document that is too long")
        return await super().index(corpus)


class Swallows(Whole):
    async def generated(self, question: str, contexts: Sequence[Context]) -> str | None:
        try:
            return await super().generated(question, contexts)
        except Exception:
            return "sorry"


def _expected(workload: Workload) -> Expected:
    contexts = [Context(text=one.text, doc_ids=(one.doc_id,)) for one in workload.corpus.documents[:3]]
    messages = answer_messages(workload.queries[0].text, contexts, workload.answer_style)
    characters = sum(len(message.content) for message in messages)
    calls = ExpectedCalls(calls=1, input_characters=characters, output_tokens_most=workload.answer_tokens)
    return Expected(index=Work(), query=Work(calls=(calls,)))


def _of_query(expected: Expected, **changes: float) -> Expected:
    (calls,) = expected.query.calls
    return expected.model_copy(update={"query": Work(calls=(calls.model_copy(update=changes),))})


class Expects(Whole):
    """Breaks nothing."""

    expect = staticmethod(lambda _index, _answer, workload: _expected(workload))


class ExpectsLessThanNothing(Whole):
    expect = staticmethod(
        lambda _index, _answer, workload: _expected(workload).model_copy(
            update={"index": Work(embedded_texts=-1, embedded_characters=-1)}
        )
    )


class ExpectsTwice(Whole):
    expect = staticmethod(lambda _index, _answer, workload: _of_query(_expected(workload), calls=2.0))


class ExpectsShortPrompts(Whole):
    expect = staticmethod(lambda _index, _answer, workload: _of_query(_expected(workload), input_characters=9.0))


class AnswersByRules(Whole):
    """It names no generator and no models of its own, so its answers would not be scored."""

    answer_roles = NO_ROLE

    async def generated(self, question: str, contexts: Sequence[Context]) -> str | None:
        return contexts[0].text if contexts else question


BREAKS: dict[type[Whole], tuple[str, ...]] = {
    Expects: (),
    NoVersion: ("test_it_presents_itself",),
    LooseParams: ("test_its_parameters_have_defaults_and_refuse_what_they_do_not_know",),
    SameParam: ("test_a_parameter_belongs_to_the_index_or_to_the_answer",),
    Miscounts: ("test_indexing_says_how_many_documents_there_were",),
    SaysNothing: ("test_every_query_is_answered",),
    RemembersItsBuild: ("test_a_fresh_process_answers_as_the_one_that_indexed",),
    RemembersQueries: ("test_the_same_query_twice_is_answered_the_same",),
    MixesQueries: ("test_concurrent_answers_equal_those_one_at_a_time",),
    WorstFirst: ("test_every_context_comes_from_where_it_says_in_rank_order",),
    HidesContexts: ("test_what_the_generator_saw_is_in_the_record",),
    AnswersAnyway: ("test_without_a_generator_it_retrieves_and_answers_none",),
    AnswersByRules: ("test_without_a_generator_it_retrieves_and_answers_none",),
    NamesTooMany: ("test_each_phase_calls_the_models_that_its_spec_names",),
    OwnStyle: ("test_the_answer_style_reaches_the_generator",),
    EagerWriter: ("test_building_it_opens_nothing_and_it_can_be_closed_at_once",),
    ForgetsToClose: ("test_it_can_be_closed_after_a_load_that_failed",),
    WritesElsewhere: ("test_answering_writes_nothing_outside_the_index_folder",),
    ReachesOut: ("test_answering_reaches_nothing_but_the_models",),
    IndexesElsewhere: ("test_indexing_keeps_to_its_folder_and_its_models",),
    HoldsFiles: ("test_closing_releases_every_file_of_the_index",),
    # Tests that copy an index move it.
    StaysInPlace: (
        "test_a_query_that_is_cut_off_leaves_the_next_ones_alone",
        "test_an_index_is_whole_after_a_process_died_answering_from_it",
        "test_an_index_that_was_moved_answers_the_same",
        "test_two_processes_may_answer_from_one_index_at_once",
    ),
    Alone: ("test_two_processes_may_answer_from_one_index_at_once",),
    RemembersTheFirstAttempt: ("test_a_build_that_was_killed_starts_again_and_ends_as_an_uninterrupted_one",),
    MindsTheDead: ("test_an_index_is_whole_after_a_process_died_answering_from_it",),
    LosesSlots: ("test_a_query_that_is_cut_off_leaves_the_next_ones_alone",),
    PlainQueries: ("test_odd_queries_are_answered",),
    FullDocuments: ("test_an_odd_corpus_is_survived",),
    ShortDocuments: ("test_a_document_of_a_megabyte_is_survived",),
    Swallows: ("test_a_failing_model_call_is_one_record_and_the_rest_goes_on",),
    ExpectsLessThanNothing: ("test_what_is_expected_is_a_number_of_calls_and_of_characters",),
    ExpectsTwice: ("test_calls_are_as_many_as_expected_or_the_most_is_said",),
    ExpectsShortPrompts: ("test_prompts_are_about_as_long_as_expected",),
}


def _spec(kind: type[Whole]) -> SystemSpec:
    return SystemSpec(
        name=kind.__name__,
        version=kind.version,
        summary="documents that share a word with the question",
        index_params=kind.index_params,
        answer_params=kind.answer_params,
        build=kind,
        index_roles=kind.index_roles,
        answer_roles=kind.answer_roles,
        expect=kind.expect,
    )


SPECS = {kind.__name__: _spec(kind) for kind in BREAKS}
globals().update({f"{name}_SPEC": spec for name, spec in SPECS.items()})
