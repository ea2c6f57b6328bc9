"""Documents dropped on the page of `rag-harness try`, and the two systems that are indexed over them."""

import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.api.config_building import CONFIGURED, DatasetChoice, bench_config
from harness.config import BenchConfig
from harness.config.shipped_files import shipped_configs
from harness.core.errors import ConfigError
from harness.core.records import Phase
from harness.datasets.folder.reading import KINDS
from harness.runner.executing.execute import RunContext, build_index
from harness.runner.executing.phases import Execution, OnEvent
from harness.runner.executing.worker_supervisor import Supervisor
from harness.runner.plan import plan_cells
from harness.runner.progress import Reporter
from harness.store import RunDir
from harness.store.atomic_files import write_atomic, write_atomic_bytes
from harness.store.score_files import refuse_link

MOST_FILES = 100
LARGEST_FILE, LARGEST_TOTAL = 20_000_000, 100_000_000
"""Bytes."""
DEFAULT_SYSTEMS = ("naive", "kg")
_LONGEST_NAME = 100
_LONGEST_STEM = 200
"""Bytes. File systems take names of 255 bytes, of which the temporary file and the ending need some."""
_UNSAFE = re.compile(r"[^\w .()+-]")
_ASKED_OF_NONE = "What are these documents about?"
"""A run needs a query. Nobody is asked this one: only the index of the run is used."""


class UploadedDocuments:
    """The documents in a private folder, under safe names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._sizes: dict[str, int] = {}
        self._given: dict[str, str] = {}

    @property
    def names(self) -> list[str]:
        return sorted(self._sizes)

    def add(self, name: str, content: bytes) -> None:
        """Write a document; the same one again is replaced. ConfigError: it is of another kind or too large, there
        are too many, or another one has the same safe name.
        """
        safe, others = safe_name(name), {own: size for own, size in self._sizes.items() if own != safe_name(name)}
        total = sum(others.values()) + len(content)
        if len(content) > LARGEST_FILE or total > LARGEST_TOTAL or len(others) >= MOST_FILES:
            limits = f"{MOST_FILES} files of {LARGEST_FILE // 10**6} MB, {LARGEST_TOTAL // 10**6} MB in all"
            raise ConfigError(f"'{safe}' is beyond the limit of {limits}", "start with --docs FOLDER instead")
        if self._given.setdefault(safe, name) != name:
            raise ConfigError(f"another document is already called '{safe}' here", "rename this one")
        write_atomic_bytes(self.folder / safe, content)
        self._sizes[safe] = len(content)

    def clear(self) -> None:
        for name in self.names:
            (self.folder / name).unlink(missing_ok=True)
            del self._sizes[name], self._given[name]


def safe_name(name: str) -> str:
    """A file name without folders, leading points and unusual characters. ConfigError: a kind that is not read."""
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", name))[-1]
    stem, _, kind = _UNSAFE.sub("_", last).rpartition(".")
    if f".{kind.lower()}" not in KINDS:
        raise ConfigError(f"'{last[:_LONGEST_NAME]}' is not read", f"add files of the kinds {', '.join(KINDS)}")
    stem = stem.strip(" .")[:_LONGEST_NAME].encode()[:_LONGEST_STEM].decode(errors="ignore")
    return f"{stem or 'document'}.{kind}"


def default_config(settings: Sequence[str], dataset: DatasetChoice = CONFIGURED) -> BenchConfig:
    """The config of two systems over documents, with the user's settings: by default without a model call for the
    index, and with the local model for answers. ConfigError: a wrong setting.
    """
    source = shipped_configs() / "bench" / "documents.yaml"
    settings = ("matrix={}", "exclude=[]", *settings)
    config = bench_config(source, systems=DEFAULT_SYSTEMS, dataset=dataset, settings=settings)
    if len(config.systems) != 2:
        what = f"the page compares two systems, not {len(config.systems)}"
        raise ConfigError(what, "set two, e.g. --set systems=[naive,hyde]")
    return config


def index_documents(
    docs: Path,
    work: Path,
    results: Path,
    settings: Sequence[str],
    reporter: Reporter,
    started: Callable[[Supervisor], None] = lambda _: None,
) -> list[RunDir]:
    """Two runs with indexes over a folder; indexes that exist are reused. `started` receives each process that
    builds, to kill it. HarnessError, or SystemBroken: a build fails.
    """

    class Stoppable(Execution):
        def supervisor(self, phase: Phase, on_event: OnEvent) -> Supervisor:
            supervisor = super().supervisor(phase, on_event)
            started(supervisor)
            return supervisor

    refuse_link(results)
    questions = work / "questions.jsonl"
    write_atomic(questions, json.dumps({"question": _ASKED_OF_NONE}) + "\n")
    config = default_config(settings, DatasetChoice(docs=docs, questions=questions))
    with reporter.reading() as progress:
        cells = plan_cells(config, progress)
    if len(cells) != 2:
        raise ConfigError(f"the settings give {len(cells)} configurations", "give two systems and no matrix")
    return [build_index(cell, RunContext(results.resolve(), reporter, make=Stoppable)) for cell in cells]
