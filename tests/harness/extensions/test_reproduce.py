"""`reproduce` makes every table and figure of a paper; a report shows published values beside those of runs."""

import csv
import json
from pathlib import Path

import pytest
from command_line import CommandLineHere
from damaging import WorkersHere
from paired_runs import ScoredRun, write_run

from harness.core.errors import ConfigError
from harness.display import NOTHING
from harness.extensions.reproduce.paper import PAPERS, load_paper
from harness.report.published import read_published


@pytest.fixture
def cli(tmp_path: Path) -> CommandLineHere:
    return CommandLineHere(tmp_path)


SMALLER = {
    "thesis": [
        "dataset.sample.per_type=1",
        "per_system.naive.answer.top_k=3",
        "per_system.recursive.answer={rounds: 2, k_per_round: 2, sub_questions: cumulative, stop: no_new_passage}",
        "per_system.kg.answer.top_k=2",
        "per_system.kg.index.extractor=bounded",
        "per_system.community.answer.context_tokens=2000",
        "runner.resources_interval_s=0.1",
    ],
    "kg_eval": [
        "dataset.corpus=cited",
        "per_system.naive.answer.top_k=1",
        "matrix.dataset=[{name: uda_qa, sample: {per_type: 11}}, {name: ms_marco, sample: {per_type: 3}}]",
    ],
    "llm_eval": ["dataset.corpus=cited"],
    "ge_chat": ["dataset.name=demo"],
    "rag_eval": [],
}
"""Settings with which every item can still be made, in less time."""


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS)
def test_a_scripted_model_makes_every_table_and_figure(paper: str, cli: CommandLineHere, tmp_path: Path) -> None:
    settings = [word for setting in SMALLER[paper] for word in ("--set", setting)]
    # A figure of the thesis shows what the processes that answer take.
    with WorkersHere("index") if paper == "thesis" else WorkersHere():
        done = cli.call(
            *("reproduce", paper, "--models", "scripted", "--out", str(tmp_path / "out"), "--quiet", *settings)
        )
    made = json.loads((tmp_path / "out" / "README.json").read_text())["items"]
    assert {one["number"]: one["why_not"] for one in made if one["why_not"]} == {}, done.stderr
    assert [one["number"] for one in made] == [item.number for item in load_paper(paper).items]
    for one in made:
        assert (tmp_path / "out" / one["file"]).stat().st_size > 0
        sheet = (tmp_path / "out" / "tables" / f"{one['number']}.csv").read_text(encoding="utf-8")
        assert len(sheet.splitlines()) > 1


@pytest.mark.parametrize("paper", PAPERS)
def test_published_values_belong_to_items_and_say_where_they_stand(paper: str) -> None:
    published = read_published(paper)
    # KG-eval prints no value.
    assert published.source and published.conditions and (published.values or paper == "kg_eval")
    numbers = {item.number for item in load_paper(paper).items}
    assert {value.item for value in published.values} <= numbers
    assert all(value.page for value in published.values)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("item,page,row,column\n", "value"),
        *(
            (f"item,page,row,column,value\ntable-1,3,naive,accuracy,{value}\n", "line 2")
            for value in ("a lot", "nan", "1_000", "1e308")
        ),
        ("item,page,row,column,value,value\ntable-1,3,naive,accuracy,1,2\n", "2 columns"),
        (f"item,page,row,column,value\n{'x' * 140_000},3,naive,accuracy,1\n", "cannot read"),
    ],
)
def test_a_damaged_file_of_published_values_is_one_line(text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(text)
    with pytest.raises(ConfigError, match=reason):
        read_published(str(tmp_path / "mine.csv"))


@pytest.mark.parametrize("words", [("thesiss",), ("thesis", "--only", "figure-5.99")])
def test_a_wrong_name_is_one_line_with_the_nearest(words: tuple[str, ...], cli: CommandLineHere) -> None:
    assert "thesis" in (said := cli.refused("reproduce", *words, "--models", "scripted")), said


def test_a_report_shows_published_values_beside_those_of_its_runs(cli: CommandLineHere, tmp_path: Path) -> None:
    scores = {"accuracy": [1.0, 0.0, 1.0, 1.0]}
    types = ("inference_query", "null_query")
    run = write_run(cli.results, ScoredRun(scores=scores, types=types, answer={"top_k": 10}))
    mine = tmp_path / "mine.csv"
    mine.write_text(
        "item,page,row,column,value,measure,query_type,system,parameters\n"
        "source,,,,A paper of ours\ncondition,,generator,,some model\n"
        "table-1,3,naive,accuracy,0.5,accuracy,balanced,naive,\n"
        "table-1,3,naive,null,0.25,accuracy,null,naive,answer.top_k=10\n"
        "table-1,3,naive,null,0.75,accuracy,null,naive,answer.top_k=99\n"
    )
    words = ("report", run.run_id, "--beside", str(mine), "--out", str(tmp_path / "out"))

    def beside() -> list[dict[str, str]]:
        done = cli.call(*words)
        assert done.returncode == 0, done.stderr
        text = (tmp_path / "out" / "tables" / "beside.csv").read_text(encoding="utf-8")
        return list(csv.DictReader(text.splitlines()))

    rows = beside()
    assert [float(row["published"]) for row in rows] == [0.5, 0.25]
    assert [float(row["here"].split()[0]) for row in rows] == [0.75, 0.5]
    assert [float(row["difference"]) for row in rows] == [0.25, 0.25]
    elsewhere = mine.read_text().replace("condition,,generator,,some model", "condition,,data set,,another")
    mine.write_text(elsewhere)
    assert {row["difference"] for row in beside()} == {NOTHING}
    mine.write_text(elsewhere.replace("0.25", "25"))
    assert "per cent" in cli.refused(*words)


def test_the_folder_of_another_report_is_refused_before_anything_runs(
    cli: CommandLineHere, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("my own")
    cli.refused("reproduce", "thesis", "--models", "scripted", "--out", str(tmp_path / "mine"))
    assert not cli.results.exists()
