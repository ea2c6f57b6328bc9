"""Where the contexts of a run stand in their documents."""

import base64
import json
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from explorer_runs import Answers, Asked, Said, records, write_run

from harness.core.records import Context, Document, Span
from harness.report.page.explorer import build_explorer
from harness.report.page.explorer_reading import ContextPlaces
from harness.report.view import load_groups
from harness.statistics.prices import load_prices
from harness.store import RunDir
from harness.store.index_dir import Corpora, corpus_digest

DOCUMENTS = [Document(doc_id="oven.pdf", text="# Ovens\nOld.\n\f# Keys\nLeft.")]
DIGEST = corpus_digest(DOCUMENTS)


@dataclass
class Header:
    dataset: dict[str, Any]


@dataclass
class Folder:
    """What of a run is asked."""

    path: Path
    dataset: dict[str, Any] = field(default_factory=lambda: {"has_places": True, "corpus_digest": DIGEST})

    def manifest(self) -> Header:
        return Header(self.dataset)


def places(run: Folder) -> ContextPlaces:
    return ContextPlaces(cast(RunDir, run))


@pytest.fixture
def run(tmp_path: Path) -> Folder:
    Corpora(tmp_path).save(DIGEST, DOCUMENTS)
    return Folder(tmp_path / "run")


def context(doc_id: str = "oven.pdf", start: int = 14) -> Context:
    return Context(text="Keys", doc_ids=(doc_id,), span=Span(doc_id=doc_id, start=start, end=start + 6))


def test_a_context_says_its_page_and_section(run: Folder) -> None:
    assert places(run).describe(context()) == "page 2, Keys"


def test_the_explorer_shows_it(tmp_path: Path) -> None:
    said = Answers("naive", records({"q": Said(contexts=(context(),))}))
    asked = write_run(tmp_path / "asked", [Asked("q")], said)
    manifest = asked.manifest()
    dataset = {**manifest.dataset, "has_places": True, "corpus_digest": DIGEST}
    run = RunDir.create(tmp_path, manifest.model_copy(update={"dataset": dataset}), asked.sample())
    run.append_records(asked.iter_records())
    Corpora(tmp_path).save(DIGEST, DOCUMENTS)
    (group,) = load_groups([run], load_prices())
    packed = dict(build_explorer(group, "g0").blocks)["g0-t0"]
    assert "page 2, Keys" in json.loads(zlib.decompress(base64.b64decode(packed)))[0]


def test_where_nothing_is_known_nothing_is_said(run: Folder) -> None:
    assert places(run).describe(context("other.pdf")) == ""
    assert places(run).describe(Context(text="Keys", doc_ids=("oven.pdf",))) == ""
    assert places(Folder(run.path, {"corpus_digest": DIGEST})).describe(context()) == ""


def test_a_damaged_corpus_ends_no_report(run: Folder) -> None:
    path = Corpora(run.path.parent).path(DIGEST)
    path.write_text(path.read_text().replace("Old", "New"))
    assert places(run).describe(context()) == ""
