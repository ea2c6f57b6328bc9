"""Runs `rag-harness try`: the page on which two systems answer side by side."""

import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import Base64Bytes, Field

from harness.cli.console import open_console
from harness.cli.sentence_highlighting import Place
from harness.core.current_process import count_stops
from harness.core.errors import ConfigError
from harness.core.records import Record
from harness.datasets.folder.dataset import check_documents
from harness.datasets.folder.reading import KINDS
from harness.evaluators.answer_normalisation import abstains
from harness.evaluators.support import support_of
from harness.extensions.ask.comparison_session import AskedPair, Choice, ComparisonSession, PageReporter
from harness.extensions.ask.output import answer_of, cost_line, judged_text
from harness.extensions.ask.session import Asked, Opening, is_of_judge
from harness.extensions.ask.uploaded_documents import (
    LARGEST_FILE,
    UploadedDocuments,
    default_config,
    index_documents,
)
from harness.extensions.web import serve_page
from harness.extensions.web.pages import LONGEST_BODY, LocalPage, framed, parsed_body
from harness.report.terminal import plain
from harness.runner.live_run_check import run_named

_ASSETS = Path(__file__).parent / "assets"
_LONGEST_PASSAGE = 20_000


def try_on_page(
    names: Sequence[str],
    docs: Path | None,
    port: int,
    to_ask: Callable[..., Opening],
    *,
    settings: Sequence[str],
    trust: bool,
    results: Path,
    quiet: bool,
) -> None:
    """Serve the page for two runs, or for two systems over a folder or over what is dropped on the page, until
    Ctrl-C or Done. ConfigError, before anything is started, if they cannot be asked. `to_ask`: `runs_to_ask` with
    the judge and the prices of the command.
    """
    count_stops()
    reporter = PageReporter(quiet=quiet)
    if names and (len(names) != 2 or docs is not None):
        what = f"the page compares two runs, not {len(names)}" if docs is None else "runs and --docs are given"
        raise ConfigError(what, "name two runs, or none and --docs FOLDER")
    with ExitStack() as stack:
        # Ended like by Ctrl-C, so that no document is left behind.
        stack.callback(signal.signal, signal.SIGTERM, signal.signal(signal.SIGTERM, signal.default_int_handler))
        work = Path(stack.enter_context(TemporaryDirectory(prefix="rag-harness-try-")))
        if names:
            runs = [run_named(results, name) for name in names]
            chosen = to_ask(runs, settings=settings, trust=trust, results=results)
            session = ComparisonSession(lambda: chosen, results, reporter)
        else:
            own = [one for one in settings if not is_of_judge(one)]
            default_config(own)
            if docs is not None:
                check_documents(docs)
            tried, folder = results / "try", docs or work / "documents"

            def indexed() -> Opening:
                runs = index_documents(folder, work, tried, own, reporter, session.building)
                # The servers and files that these runs name are those of this command line.
                return to_ask(runs, settings=list(filter(is_of_judge, settings)), trust=True, results=tried)

            uploaded = UploadedDocuments(folder) if docs is None else None
            session = ComparisonSession(indexed, tried, reporter, uploaded)
        stack.enter_context(closing(session))
        serve_page(comparison_page(session), port, begin=session.prepare if session.uploaded is None else None)
        if votes := session.votes:
            open_console().print(plain(f"{votes}\n{session.compare_command}"), soft_wrap=True)


class SentDocument(Record):
    name: str = Field(max_length=1_000)
    content: Base64Bytes


class SentQuestion(Record):
    question: str


class SentVote(Record):
    id: str
    choice: Choice


def comparison_page(session: ComparisonSession) -> LocalPage:
    def state(_asked: object = None) -> object:
        votes, uploaded = session.votes, session.uploaded
        return {
            "phase": session.phase,
            "message": session.message or session.reporter.latest,
            "documents": None if uploaded is None else uploaded.names,
            "kinds": list(KINDS),
            "largest": LARGEST_FILE,
            "is_judged": session.is_judged,
            "votes": votes,
            "compare": session.compare_command if votes else "",
        }

    def add(body: bytes) -> object:
        sent = parsed_body(SentDocument, body)
        session.documents.add(sent.name, sent.content)
        return state()

    def clear(_body: bytes) -> object:
        session.documents.clear()
        return state()

    def prepare(_body: bytes) -> object:
        if not session.documents.names:
            raise ConfigError("there are no documents", "drop some")
        session.prepare()
        return state()

    def ask(body: bytes) -> object:
        return {"id": session.ask(parsed_body(SentQuestion, body).question)}

    def answer(asked: Mapping[str, str]) -> object:
        return pair_value(session.find(asked.get("id", "")), session.names)

    def vote(body: bytes) -> object:
        sent = parsed_body(SentVote, body)
        return pair_value(session.vote(sent.id, sent.choice), session.names)

    posts = {"/document": add, "/clear": clear, "/prepare": prepare, "/ask": ask, "/vote": vote}
    # Base64 makes a file longer by a third.
    longest = LONGEST_BODY if session.uploaded is None else 2 * LARGEST_FILE
    return framed("Try two systems", _ASSETS, "try", {"/state": state, "/answer": answer}, posts, longest)


def pair_value(pair: AskedPair, names: Sequence[str]) -> dict[str, object]:
    """A question with its answers so far. The systems are named once there is a vote."""
    return {
        "question": pair.question,
        "answers": [_answer_value(one) for one in pair.answers],
        "is_done": bool(pair.error) or len(pair.answers) == len(pair.order),
        "error": pair.error,
        "choice": pair.choice,
        "names": None if pair.choice is None else [names[place] for place in pair.order],
    }


def _answer_value(asked: Asked) -> dict[str, object]:
    said = asked.record.prediction
    contexts = said.contexts if said else ()
    answer = (said and said.answer) or ""
    support = None if abstains(answer) else support_of(answer, [one.text for one in contexts])
    return {
        "answer": answer_of(asked),
        "is_ok": said is not None,
        "judged": [f"{one.measure.display_name} {judged_text(one)}" for one in asked.judged],
        "support": None if support is None else f"{100 * support.words:.0f} %",
        "cost": cost_line(asked),
        "passages": [
            {
                "title": ", ".join(_title(asked, doc_id) for doc_id in dict.fromkeys(context.doc_ids)),
                "parts": _parts(context.text, places),
            }
            for context, places in zip(contexts, asked.support, strict=True)
        ],
    }


def _title(asked: Asked, doc_id: str) -> str:
    document = asked.sources.get(doc_id)
    return document.title if document and document.title else doc_id


def _parts(text: str, places: Sequence[Place]) -> list[tuple[str, bool]]:
    """The text in parts, and whether each is marked. A long text is cut."""
    parts: list[tuple[str, bool]] = []
    done, end_of_text = 0, min(len(text), _LONGEST_PASSAGE)
    for start, end in sorted(places):
        first, last = max(start, done), min(end, end_of_text)
        if first < last:
            parts += [(text[done:first], False), (text[first:last], True)]
            done = last
    rest = text[done:end_of_text] + ("…" if end_of_text < len(text) else "")
    return [part for part in (*parts, (rest, False)) if part[0]]
