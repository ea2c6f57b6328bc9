"""Opens the system of a finished run in this process, to ask it new questions.

The run is not changed: no record is written, and calls go to a separate journal, `asked/calls.sqlite` in the
results folder.
"""

import asyncio
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from harness.core.errors import ConfigError, explained_io
from harness.core.hashing import short_digest
from harness.core.records import Query, RunRecord
from harness.models.budget import Budget
from harness.models.llama_server import LocalServer
from harness.models.transport import CallContext
from harness.runner.executing.jobs import job_of
from harness.runner.executing.messages import QueryTask
from harness.runner.executing.query_time_limit import SuspendableLoop
from harness.runner.executing.system_loader import OpenedSystem, open_system
from harness.runner.executing.worker_supervisor import CleanedLog
from harness.runner.live_run_check import LiveRun
from harness.runner.model_preflight import check_needs, fetch_models, model_server
from harness.runner.plan import index_dirs
from harness.runner.progress import Reporter
from harness.store import Dialects, Journal
from harness.store.score_files import refuse_link

LONGEST_QUESTION = 20_000
"""Maximum characters, about ten pages. A longer text is a document, not a question."""


@dataclass
class LiveSystem:
    """A loaded system. It answers one question at a time."""

    opened: OpenedSystem
    limit_s: float
    loop: asyncio.Runner
    log: TextIO
    server: LocalServer | None = None
    messages: list[str] = field(default_factory=list)
    """Messages for the user that the caller has not shown yet. The caller removes them."""

    def answer(self, question: str) -> RunRecord:
        """The record, which is not saved. HarnessError if no question can be answered, as without a server."""
        query = Query(query_id=f"asked-{short_digest(question)}", text=question)
        task = QueryTask(query_id=query.query_id, repeat=0, attempt=1)
        with redirect_stdout(self.log), redirect_stderr(self.log):
            return self.loop.run(self.opened.record(query, task, self.limit_s))


def checked_question(text: str) -> str:
    """The stripped question. ConfigError if it is empty, too long or not UTF-8."""
    question = text.strip()
    if not question:
        raise ConfigError("the question is empty", 'write one, such as rag-harness ask "Who wrote it?" --run RUN')
    if len(question) > LONGEST_QUESTION:
        what = f"the question has {len(question):,} characters, more than {LONGEST_QUESTION:,}"
        raise ConfigError(what, "shorten it; documents belong in the corpus (--docs)")
    if not question.isprintable() and any("\ud800" <= char <= "\udfff" for char in question):
        raise ConfigError("the question is not UTF-8 text", "check the encoding of the terminal or file")
    return question


@contextmanager
def open_live(
    live: LiveRun,
    folder: Path,
    reporter: Reporter,
    *,
    server: LocalServer | None = None,
    journal: Journal | None = None,
    budget: Budget | None = None,
) -> Iterator[LiveSystem]:
    """The loaded system of a run. It and the servers started for it are closed at the end of the block. Logs are
    in `folder`, and the journal, unless another one is given. `server`: a running one of the same generator, which
    is used instead of a new one.

    HarnessError for a missing package, server, key or weight file.
    """
    configuration = live.configuration
    check_needs(configuration, live.results)
    models = fetch_models(configuration, live.results, reporter)
    for place in (folder, folder / "calls.sqlite"):
        refuse_link(place)
    with explained_io("prepare", folder):
        folder.mkdir(parents=True, exist_ok=True)
    messages: list[str] = []
    indexes = index_dirs(configuration, live.results)
    with ExitStack() as stack:
        server = server or stack.enter_context(model_server(models.get("generator"), folder))
        log = stack.enter_context(CleanedLog(folder / f"{folder.name}.log"))
        written = stack.enter_context(os.fdopen(os.dup(log.fd), "w", buffering=1, errors="replace"))
        for index in indexes:
            stack.enter_context(index.in_use())
        loop = stack.enter_context(asyncio.Runner(loop_factory=SuspendableLoop))
        journal = journal or Journal(
            folder / "calls.sqlite", payer=live.run.run_id, shared=True, tell=messages.append
        )
        call_context = CallContext(
            journal,
            configuration.servers,
            dialects=Dialects.under(folder.parent),
            begun_in=live.run.dialects(),
            budget=budget or Budget(),
            say=messages.append,
        )
        job = job_of(configuration, live.results, "answer", server)
        with redirect_stdout(written), redirect_stderr(written):
            opening = open_system(job, call_context, payer=folder.name, warn=messages.append, has_answers=True)
            opened = stack.enter_context(opening)
            stack.callback(lambda: loop.run(opened.disconnect()))
            loop.run(opened.load())
        for index in indexes:
            index.opened()
        yield LiveSystem(opened, job.limits.query_timeout_s, loop, written, server, messages)
