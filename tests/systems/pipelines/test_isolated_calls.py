"""Code of others may block, end the process or run on: nothing but its own question suffers."""

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import ConfigError
from harness.core.records import Context, Usage
from harness.registry import SYSTEMS
from systems.pipelines import isolated_calls
from systems.pipelines.isolated_calls import Caller, PipelineEnded
from systems.pipelines.replies import PipelineReply, WrongShape, read_reply
from systems.pipelines.target_lookup import find_target


async def slept(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "awake"


def test_functions_run_at_once_and_everything_that_is_awaited_shares_one_loop_that_is_not_ours() -> None:
    async def loop() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    async def called() -> tuple[str, list[asyncio.AbstractEventLoop]]:
        caller = Caller()
        said = await caller.call(lambda: "at once")
        return said, [await caller.call(loop), await caller.call(loop), asyncio.get_running_loop()]

    said, (first, second, ours) = asyncio.run(called())
    assert said == "at once"
    assert first is second
    assert first is not ours


async def later() -> None:
    sys.exit(4)


@pytest.mark.parametrize("work", [lambda: sys.exit(4), later])
def test_ending_the_process_ends_the_question_alone(work: Callable[[], Any]) -> None:
    with pytest.raises(PipelineEnded, match=r"sys.exit\(4\)"):
        asyncio.run(Caller().call(work))


def test_a_function_that_blocks_does_not_hold_up_the_loop() -> None:
    release = threading.Event()

    async def beside() -> tuple[bool, float]:
        caller = Caller()
        blocked = asyncio.create_task(caller.call(release.wait))
        start = time.monotonic()
        await caller.call(lambda: None)
        took = time.monotonic() - start
        release.set()
        return await blocked, took

    ended, took = asyncio.run(beside())
    assert ended
    assert took < 5


async def in_time(caller: Caller, work: Callable[[], Any]) -> str:
    try:
        async with asyncio.timeout(0.05):
            await caller.call(work)
    except TimeoutError:
        return "timeout"
    return "done"


async def blocked_loop(release: threading.Event) -> None:
    release.wait()


@pytest.mark.parametrize("blocks", [lambda release: release.wait(), blocked_loop])
def test_what_runs_on_past_its_time_makes_the_process_leave_before_the_next_question(
    blocks: Callable[[threading.Event], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    release, left = threading.Event(), []
    monkeypatch.setattr(isolated_calls, "_GRACE_S", 0.1)
    monkeypatch.setattr(isolated_calls, "_leave", lambda: left.append("left"))

    async def twice() -> str:
        caller = Caller()
        first = await in_time(caller, lambda: blocks(release))
        assert left == []
        await in_time(caller, lambda: None)
        release.set()
        return first

    assert asyncio.run(twice()) == "timeout"
    assert left == ["left"]


def test_what_stops_when_it_is_cancelled_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated_calls, "_leave", lambda: pytest.fail("it left"))

    async def twice() -> list[str]:
        caller = Caller()
        return [await in_time(caller, lambda: slept(60)), await in_time(caller, lambda: None)]

    assert asyncio.run(twice()) == ["timeout", "done"]


# `module:name` is found without running it, and a change of its file is another version.


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the command is called."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_module_is_found_in_the_folder_of_the_command_without_running_it_or_its_package(folder: Path) -> None:
    (folder / "mine.py").write_text("raise SystemExit(3)\ndef answer(question): ...\n")
    (folder / "kitchen").mkdir()
    (folder / "kitchen" / "__init__.py").write_text("raise SystemExit(3)")
    (folder / "kitchen" / "oven.py").write_text("answer = print")
    for target in ("mine:answer", "kitchen.oven:answer"):
        assert find_target("python", target).as_text == target


def test_another_file_is_another_version_and_the_same_file_is_the_same(folder: Path) -> None:
    versions = []
    for code in ("def answer(question): return 1", "def answer(question): return 2") * 2:
        (folder / "mine.py").write_text(code)
        versions.append(SYSTEMS.load("python:mine:answer").version)
    assert versions[:2] == versions[2:]
    assert len(set(versions)) == 2


@pytest.mark.parametrize(
    ("target", "line"),
    [
        ("nope:answer", "there is no module nope here: call the command in its folder"),
        ("mine:anser", "mine.py has no 'anser': did you mean 'answer'?"),
        ("json:answer", "comes before the json of this folder, has no 'answer': give yours another name"),
        ("mine", "'python:mine' names no function: write python:module:name"),
        ("../mine:answer", "names no function"),
        ("broken:answer", "broken.py, line 1 is not Python"),
        ("folder:answer", "is a folder without __init__.py"),
    ],
)
def test_a_target_that_is_not_there_is_one_line(folder: Path, target: str, line: str) -> None:
    (folder / "mine.py").write_text("def answer(question): ...")
    (folder / "broken.py").write_text("def answer(")
    (folder / "json.py").write_text("def answer(question): ...")
    (folder / "folder").mkdir()
    with pytest.raises(ConfigError) as refused:
        find_target("python", target)
    assert line in str(refused.value)


@pytest.mark.parametrize("code", ["from os import *", "globals()['answer'] = print", "def __getattr__(name): ..."])
def test_a_name_that_only_running_can_tell_of_is_not_refused(folder: Path, code: str) -> None:
    (folder / "mine.py").write_text(code)
    assert find_target("python", "mine:answer").name == "answer"


# What a pipeline says is kept, or told by the field that is wrong.


def test_contexts_are_texts_or_objects_in_rank_order() -> None:
    reply = read_reply({"answer": "x", "contexts": ["a", {"text": "b", "doc_id": 7, "score": 1}, {"text": "c"}]})
    assert reply.contexts == (
        Context(text="a", doc_ids=()),
        Context(text="b", doc_ids=("7",), score=1.0),
        Context(text="c", doc_ids=()),
    )


def test_usage_goes_by_our_names_or_by_those_of_openai() -> None:
    ours = {"calls": 2, "input_tokens": 30, "output_tokens": 4}
    theirs = {"model_calls": 2, "prompt_tokens": 30.0, "completion_tokens": 4}
    said = [read_reply({"answer": "x", "usage": usage}).usage for usage in (ours, theirs)]
    assert said == [Usage(calls=2, input_tokens=30, output_tokens=4)] * 2


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (42, "the reply must be a text or an object with 'answer', not a number"),
        ({}, "the reply has no 'answer'; it has: nothing"),
        ({"anser": "x"}, "it has: anser"),
        ({"answer": "x" * 5_000_000}, "'answer' has 5,000,000 characters; at most 100,000 are kept"),
        ({"answer": "x", "contexts": [3]}, "'contexts.0' must be a text or an object with 'text', not a number"),
        ({"answer": "x", "contexts": ["a", {"text": 5}]}, "'contexts.1.text' must be a text, not a number"),
        ({"answer": "x", "contexts": [{"text": "a", "doc_id": {}}]}, "'contexts.0.doc_id' must be a text"),
        ({"answer": "x", "contexts": [{"text": "a", "score": float("nan")}]}, "'contexts.0.score' is nan"),
        ({"answer": "x", "contexts": ["a"] * 10_001}, "'contexts' has 10,001 entries"),
        ({"answer": "x", "usage": 5}, "'usage' must be an object, not a number"),
        ({"answer": "x", "usage": {"input_tokens": -3}}, "'usage.input_tokens' must be a count, not -3"),
        ({"answer": "x", "usage": {"cached_tokens": 5}}, "'usage.cached_tokens' is more than"),
    ],
)
def test_what_is_wrong_is_one_line_that_names_the_field(said: Any, line: str) -> None:
    with pytest.raises(WrongShape) as told:
        read_reply(said)
    assert line in str(told.value)
    assert len(str(told.value)) < 200


def test_a_text_alone_is_an_answer_of_which_nothing_else_is_known() -> None:
    assert read_reply(" Paris\n") == PipelineReply(answer="Paris", has_contexts=False)
