"""A report as a user gets it: made by the command line, opened in a browser, deleted and made again."""

import csv
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from chromium import unfold
from command_line import SMOKE, CommandLine, CommandLineHere
from explorer_runs import Answers, Asked, Said, records, score, write_run
from hostile_texts import FLIP, HOSTILE_TEXTS, check_page

from harness.core.records import Context, Evidence, Failure, Step
from harness.report import load_chapters, write_report
from harness.statistics.prices import load_prices

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

OpenFile = Callable[..., "Page"]


def bytes_of(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_report_can_be_made_again(indexed: CommandLineHere, cli: CommandLine, open_file: OpenFile) -> None:
    done = indexed.call("run", "--config", str(SMOKE), "--system", "naive", "--system", "closed-book")
    assert done.returncode == 0, done.stderr
    folder = Path(next(line for line in done.stdout.splitlines() if line.startswith("report: "))[8:]).parent
    folder = cli.folder / folder
    page = open_file(folder / "report.html")
    unfold(page)
    assert page.locator("h1").inner_text()
    assert page.locator("tbody tr[data-at]").count() == 8
    assert page.locator("figure svg").count() >= 4
    made = bytes_of(folder)
    shutil.rmtree(folder)
    again = cli.call("report", "demo--naive", "demo--closed-book")
    assert again.returncode == 0, again.stderr
    assert bytes_of(folder) == made


def test_the_page_and_the_terminal_show_the_same_numbers(indexed: CommandLineHere, open_file: OpenFile) -> None:
    assert indexed.run("--system", "naive")["rc"] == 0
    assert indexed.call("evaluate", "demo--naive").returncode == 0
    told = indexed.call("report", "demo--naive", "--out", "page", COLUMNS="100")
    page = open_file(indexed.folder / "page" / "report.html")
    shown = page.locator(".board tbody tr").first.locator(".value, .cost").all_inner_texts()
    said = " ".join(told.stdout.split())
    assert len(shown) > 2
    assert all(" ".join(cell.split()) in said for cell in shown)
    assert page.locator(".headline").inner_text().replace("\u00a0", " ") in said


def test_a_hostile_corpus_stays_text_on_every_part_of_the_page(tmp_path: Path, open_file: OpenFile) -> None:
    asked = [
        Asked(
            f"q{number} {evil}",
            evil,
            (HOSTILE_TEXTS[0], FLIP)[number % 2],
            (evil,),
            (Evidence(doc_id=evil, fact=evil),),
        )
        for number, evil in enumerate(HOSTILE_TEXTS)
    ]
    long = Context(text="0" * 60_000, doc_ids=("d",))
    said = {
        one.query_id: Said(
            answer=one.text,
            contexts=(Context(text=one.text, doc_ids=(one.text,)), long),
            trace=(Step(name=one.text, content=one.text),),
        )
        for one in asked
    }
    failed = {one.query_id: Failure(kind=one.text, message=one.text) for one in asked}
    graded = [score(one.query_id, 1.0, why=one.text, label=one.text) for one in asked]
    imputed = [score(one.query_id, "imputed", why=one.text) for one in asked]
    names = (*HOSTILE_TEXTS[:3], FLIP)
    runs = [
        Answers(f"run{number}", records(said), graded, shown_as=name, model=name, dataset=FLIP)
        for number, name in enumerate(names)
    ]
    runs[1] = replace(runs[1], records=records(failed), scores=imputed)
    written = [write_run(tmp_path / "results", asked, run) for run in runs]
    path = write_report(load_chapters(written, load_prices()), tmp_path / "report")
    assert path.stat().st_size < 15_000_000
    page = open_file(path)
    unfold(page)
    assert page.locator("meta[http-equiv=Content-Security-Policy]").count() == 1
    for number, evil in enumerate(HOSTILE_TEXTS):
        page.locator("tr[data-at] button").nth(number).click()
        page.wait_for_function(
            "(id) => document.querySelector('dialog').dataset.query === id", arg=asked[number].query_id
        )
        page.wait_for_selector("dialog .ex-column")
        page.evaluate("document.querySelectorAll('dialog details').forEach((one) => { one.open = true; })")
        assert (page.locator("dialog h3").text_content() or "")[:1000] == evil[:1000]
        assert (page.locator("dialog .ex-pre", has_text="0" * 90).first.text_content() or "").startswith(
            "0" * 20_000 + " … 40,000 more characters: rag-harness show"
        )
        check_page(page, "dialog")
        page.keyboard.press("Escape")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        check_page(page)
    for table in (tmp_path / "report").rglob("*.csv"):
        with table.open(encoding="utf-8", newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        formulas = [cell for cell in cells if cell[:1] in {"=", "+", "-", "@", "\t", "\r"} and not is_number(cell)]
        assert formulas == []


def is_number(cell: str) -> bool:
    return bool(re.match(r"-\d", cell))
