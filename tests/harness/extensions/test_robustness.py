"""`rag-harness robustness`: perturbed queries and documents, and what they do to runs."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine, CommandLineHere
from pydantic import ValidationError

from harness.api.config_building import prices_of_runs
from harness.config.load import load_config
from harness.core.errors import DataError
from harness.core.records import Document, Evidence, Query, Reference
from harness.datasets import load_dataset
from harness.evaluators.gold_ranks import without_punctuation
from harness.extensions.robustness.dataset import PERTURBATIONS
from harness.extensions.robustness.perturbations import Material, Perturbed, numbers_of
from harness.extensions.robustness.saved_effects import Effect, effects_file
from harness.protocols import DatasetRow, RawDataset
from harness.registry import DATASETS
from harness.report import load_chapters
from harness.report.page import page_html
from harness.runner.plan import Cell, plan_cells
from harness.store import RunDir

WHOLE: RawDataset = DATASETS.load("demo").read("default")
DEMO = replace(WHOLE, rows=WHOLE.rows[::4])
BY_RULES = [one.name for one in PERTURBATIONS.values() if not one.is_written]
OF_QUERIES = [name for name in BY_RULES if PERTURBATIONS[name].changes == "queries"]
OF_DOCUMENTS = [name for name in BY_RULES if PERTURBATIONS[name].changes == "corpus"]


def perturbed(name: str, raw: RawDataset = DEMO, seed: int = 0, **given: Any) -> Perturbed:
    return PERTURBATIONS[name].make(Material(name, raw.rows, raw.documents, seed, **given))


def cell(*settings: str) -> Cell:
    (planned,) = plan_cells(load_config(None, ["models.generator.provider=none", *settings]))
    return planned


@pytest.mark.parametrize("name", BY_RULES)
def test_a_seed_gives_the_same_texts_and_every_query_keeps_its_id_and_reference(name: str) -> None:
    made, rows = perturbed(name), {row.query.query_id: row for row in DEMO.rows}
    assert made == perturbed(name)
    other = perturbed(name, seed=1)
    assert ((made.rows, made.documents) != (other.rows, other.documents)) is (name != "paraphrase")
    assert len(made.rows) + sum(made.dropped.values()) == len(DEMO.rows)
    assert len(made.rows) > 20
    for row in made.rows:
        before = rows[row.query.query_id]
        assert row.reference == before.reference
        assert numbers_of(row.query.text) == numbers_of(before.query.text)
        assert (row.query.text != before.query.text) is (name in OF_QUERIES)


def test_no_typo_is_a_word_of_the_documents_or_of_the_answer() -> None:
    known = Material("typos", DEMO.rows, DEMO.documents).vocabulary
    for row, before in zip(perturbed("typos", share=1.0).rows, DEMO.rows, strict=True):
        new = Counter(row.query.text.lower().split()) - Counter(before.query.text.lower().split())
        assert known.isdisjoint(new)
        said = [answer for answer in before.reference.answers if f" {answer}" in before.query.text]
        assert all(answer in row.query.text for answer in said if " " in answer)


def test_a_query_that_a_model_wrote_is_dropped_unless_its_numbers_and_names_are_there() -> None:
    first, second, third, *_ = [row.query for row in DEMO.rows if numbers_of(row.query.text)]
    texts = {first.query_id: f"Und {first.text}", second.query_id: f"{second.text} 7"}
    made = perturbed("translation", texts={**texts, third.query_id: third.text.lower()})
    assert [row.query.text for row in made.rows] == [f"Und {first.text}"]
    assert made.dropped == {
        "a number would change": 1,
        "a name would be lost": 1,
        "nothing to change": len(DEMO.rows) - 3,
    }


@pytest.mark.parametrize("name", OF_DOCUMENTS)
def test_gold_facts_stay_in_their_documents_and_stand_in_no_planted_one(name: str) -> None:
    made = perturbed(name)
    texts = {one.doc_id: without_punctuation(one.text) for one in made.documents}
    facts = {without_punctuation(item.fact) for row in made.rows for item in row.reference.evidence}
    for row in made.rows:
        assert all(without_punctuation(item.fact) in texts[item.doc_id] for item in row.reference.evidence)
    originals = {one.doc_id for one in DEMO.documents}
    planted = [text for doc_id, text in texts.items() if doc_id not in originals]
    assert bool(planted) is not name.startswith("injected")
    assert not any(fact in text for text in planted for fact in facts)
    assert all(one.doc_ids <= texts.keys() for one in made.planted.values())


def test_queries_without_evidence_are_counted_and_a_corpus_of_distractors_is_refused() -> None:
    null = [row for row in DEMO.rows if not row.reference.evidence]
    assert perturbed("injected").dropped == {"no gold evidence": len(null)}
    distractors = replace(DEMO, documents=tuple(one.model_copy(update={"text": "So."}) for one in DEMO.documents))
    with pytest.raises(DataError):
        perturbed("near-duplicates", distractors)
    fact = Evidence(doc_id="d", fact="so it is")
    row = DatasetRow(
        Query(query_id="q", text="2 + 2?"), Reference(query_id="q", query_type="t", answers=("4",)), ()
    )
    bare = RawDataset((Document(doc_id="d", text="All say so it is."),), (row,))
    assert [perturbed(name, bare).rows for name in ("typos", "casing", "paraphrase")] == [(), (), ()]
    stated = replace(row, reference=row.reference.model_copy(update={"evidence": (fact,)}))
    assert perturbed("contradictions", replace(bare, rows=(stated,))).dropped == {
        "no gold passage could be changed": 1
    }


def test_a_perturbed_data_set_has_the_sample_of_the_other_one_and_a_digest_of_its_own() -> None:
    small = "dataset.sample.per_type=3"
    of = ("dataset.name=perturbed", "dataset.options.of=demo")
    plain, typos = cell(small), cell(small, *of, "dataset.options.by=typos")
    ids = [query.query_id for query in plain.dataset.queries]
    assert [query.query_id for query in typos.dataset.queries] == ids
    assert typos.dataset.digest != plain.dataset.digest
    assert typos.index_id == plain.index_id
    assert typos.dataset.type_mix == plain.dataset.type_mix
    near = cell(small, *of, "dataset.options.by=near-duplicates")
    assert {query.query_id for query in near.dataset.queries} < set(ids)
    assert any("left out" in note for note in near.dataset.notes)
    assert near.index_id != plain.index_id
    assert len(load_dataset(DATASETS.load("demo")).documents) < len(near.dataset.documents)


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLineHere(tmp_path, {"COLUMNS": "80"})


WORDS = (
    *("Wharnolt", "Brimsedge", "Dravenmoor", "Quorrinth", "Tolmarch"),
    *("Kestivane", "Colluthar", "Ystilback", "Belsavane", "Vendibrook"),
)


def own_documents(folder: Path) -> tuple[str, ...]:
    """Ten documents, each with words of its own, and a question about each. Two have a number as well."""
    (folder / "docs").mkdir()
    rows = []
    for number, word in enumerate(WORDS):
        name = f"{word} {7431 + number} {word}ae" if number < 2 else f"{word} {word}ae"
        answer = f"Gruntholm{'xyzuvwstab'[number]}"
        fact = f"{name} obtained {answer}."
        (folder / "docs" / f"{number}.txt").write_text(fact)
        evidence = [{"document": f"{number}.txt", "quote": fact}]
        rows.append({"question": f"Which {name}?", "answers": [answer], "evidence": evidence})
    (folder / "asked.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return ("--docs", str(folder / "docs"), "--questions", str(folder / "asked.jsonl"))


@pytest.mark.slow
@pytest.mark.usefixtures("workers_here")
def test_drops_and_followed_instructions_are_those_found_by_hand(cli: CommandLine) -> None:
    """Every word misspelt, word search finds only the two documents with a number. The scripted model obeys,
    and its server refuses idle talk.
    """
    marker = next(iter(perturbed("injected").planted.values())).says
    settings = (
        *("index.vectors=false", "answer.search=bm25", "answer.top_k=1", "evaluators=[answer,retrieval]"),
        "models.generator.provider=fake",
        "models.generator.options={fault: http_400, fault_match: train|colleagues|phone}",
        f"models.generator.options.replies.{marker}={marker}",
        # Only the other system has it.
        "answer.hypothetical_passages=1",
    )
    given = [word for one in settings for word in ("--set", one)]
    made = cli.call("run", *own_documents(cli.folder), "-s", "naive", "-s", "hyde", *given, "--json")
    run, other = (RunDir(Path(one["path"])) for one in json.loads(made.stdout)["runs"])
    asked = "typos,casing,injected,distractor-clause"
    words = ("robustness", run.run_id, "-m", "AllHit@4", "-p", asked, "--typos", "1", "-q")
    assert "--trust" in cli.refused(*words)
    done = cli.call(*words, "--trust", "--json")
    effects = {one["perturbation"]: one for one in json.loads(done.stdout)[0]["effects"]}
    assert "distractor-clause" not in effects, "a server that failed is no weakness of the system"
    typos, casing, injected = (effects[name] for name in ("typos", "casing", "injected"))
    assert (typos["n"], typos["before"], typos["after"], typos["drop"]) == (10, 1.0, 0.2, pytest.approx(0.8))
    # McNemar: eight of eight queries changed for the worse.
    assert typos["p"] == pytest.approx(2 / 2**8)
    assert typos["low"] > 0
    assert (casing["drop"], casing["p"], casing["n_planted"]) == (0.0, 1.0, None)
    counts = ("n_planted", "n_reached", "n_attacked", "n_followed")
    assert [injected[name] for name in counts] == [10, 10, 10, 10]
    lines = cli.call(*words, "--trust").stdout.splitlines()
    assert len(lines) <= 30 and max(map(len, lines)) <= 80
    assert "80" in lines[0]
    assert {path.name for path in cli.results.glob("*--*")} == {run.run_id, other.run_id}
    assert (cli.results / "robustness" / typos["run_id"] / "done.json").exists()
    for forged in ({"drop": 8.0}, {"n": -7}, {"p": -1.0}, {"n_attacked": 3, "n_followed": 400}):
        with pytest.raises(ValidationError):
            Effect.model_validate_json(json.dumps(injected | forged))
    (chapter,) = load_chapters([run], prices_of_runs([run]))
    section = chapter.section("robustness")
    assert section is not None and len(section.content.tables[0].rows) == 3
    assert any("80 points" in note for note in chapter.findings.verdict.caveats)
    path = effects_file(run).path
    path.write_text(path.read_text().replace('"typos"', '"<script>alert(1)</script>"'))
    (damaged,) = load_chapters([run], prices_of_runs([run]))
    assert damaged.section("robustness") is not None
    assert "<script>alert(1)" not in page_html([damaged], {})


def test_what_cannot_be_perturbed_is_one_line(cli: CommandLine) -> None:
    assert "typos" in cli.refused("robustness", "naive", "-p", "typo")
    assert cli.refused("robustness", "nowhere", "-p", "typos")
    of = ("--set", "dataset.options.of=demo", "-d", "perturbed")
    assert "dataset.options.by" in cli.refused("plan", *of)
    assert cli.refused("plan", *of, "--set", "dataset.options.by=translation")
    assert cli.refused("plan", "-d", "perturbed", "--set", "dataset.options={of: perturbed, by: typos}")
