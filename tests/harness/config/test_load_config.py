"""From YAML and --set to a checked config, or one line that names the mistake."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from harness.config import SampleConfig, expand, load_config
from harness.core.errors import ConfigError

CONFIGS = Path(__file__).resolve().parents[3] / "configs"
SHIPPED = sorted(
    path.relative_to(CONFIGS) for folder in ("bench", "sweeps") for path in (CONFIGS / folder).glob("*")
)

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """write(text) -> a config file."""

    def to_file(text: str) -> Path:
        path = tmp_path / "bench.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return to_file


def refusal(path: Path | None, *settings: str) -> str:
    """The one line with which these are refused."""
    with pytest.raises(ConfigError) as caught:
        load_config(path, settings)
    line = str(caught.value)
    assert len(line.splitlines()) == 1
    return line


# What is shipped


def test_every_shipped_config_spans_a_cell_and_comes_back_from_its_dump(write: Write) -> None:
    assert Path("bench/smoke.yaml") in SHIPPED
    for name in SHIPPED:
        config = load_config(CONFIGS / name)
        assert expand(config)
        assert load_config(write(yaml.safe_dump(config.model_dump(mode="json")))) == config, name


# Unknown keys and wrong values


@pytest.mark.parametrize(
    ("text", "key", "nearest"),
    [
        ("sytems: [naive]", "sytems", "systems"),
        ("dataset: {sample: {per_typ: 3}}", "dataset.sample.per_typ", "per_type"),
        ("models: {generatr: {}}", "models.generatr", "generator"),
        ("models: {embedder: {batchsize: 1}}", "models.embedder.batchsize", "batch_size"),
        ("per_system: {naive: {anwser: {}}}", "per_system.naive.anwser", "answer"),
        # Before other mistakes that it may explain.
        ("dataset: {sample: 3, corpsu: full}", "dataset.corpsu", "corpus"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_one(write: Write, text: str, key: str, nearest: str) -> None:
    assert refusal(write(text)) == f"unknown key '{key}': did you mean '{nearest}'?"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("systems: naive", ["systems: input should be a valid tuple", "'naive'"]),
        ("repeats: 0", ["repeats: input should be greater than or equal to 1", "'0'"]),
        ("seed: 1.5", ["seed: ", "fractional part", "'1.5'"]),
        ("dataset: ", ["dataset: input should be", "'None'"]),
        ("dataset: {corpus: cite}", ["dataset.corpus: input should be 'full' or 'cited'", "'cite'"]),
        ("models: {generator: {provider: no}}", ["models.generator.provider: ", "string", "'False'"]),
        ("runner: {failure_tolerance: 1.5}", ["runner.failure_tolerance: ", "'1.5'"]),
        ("matrix: {answer.top_k: 5}", ["matrix.answer.top_k: input should be a valid tuple", "'5'"]),
        ("exclude: {system: naive}", ["exclude: "]),
        ("dataset: {sample: half}", ["dataset.sample", "full"]),
        ("dataset: {sample: 50}", ["dataset.sample", "full"]),
        ("dataset: {sample: {per_type: 0}}", ["dataset.sample", "greater than or equal to 1"]),
    ],
)
def test_a_wrong_value_is_named_with_its_key_and_what_was_given(write: Write, text: str, parts: list[str]) -> None:
    line = refusal(write(text))
    assert [part for part in parts if part not in line] == []


# --set


def test_a_setting_wins_over_the_file_and_leaves_the_rest_of_its_section(write: Write) -> None:
    config = load_config(
        write("models: {generator: {provider: fake, max_tokens: 7}}"), ["models.generator.max_tokens=9"]
    )
    assert (config.models.generator.provider, config.models.generator.max_tokens) == ("fake", 9)


@pytest.mark.parametrize(
    ("settings", "sample"),
    [
        ([], SampleConfig(per_type=50, seed=42)),
        (["dataset.sample=full", "dataset.sample.per_type=3"], SampleConfig(per_type=3)),
        (["dataset.sample.per_type=3", "dataset.sample=full"], "full"),
        (["dataset.sample={per_type: 2, seed: 7}"], SampleConfig(per_type=2, seed=7)),
        (["dataset.questions=asked.csv"], "full"),
        (["dataset.questions=asked.csv", "dataset.sample.per_type=5"], SampleConfig(per_type=5)),
    ],
)
def test_the_last_setting_of_a_sample_counts_and_all_questions_of_a_file_are_asked_without_one(
    settings: list[str], sample: SampleConfig | str
) -> None:
    assert load_config(None, settings).dataset.sample == sample


@pytest.mark.parametrize(
    ("settings", "answer"),
    [
        (["answer.top_k=3", "answer.top_k=8"], {"top_k": 8}),
        (["answer.style='8'", "answer.on=true", "answer.r=0.5", "answer.no=null"],
         {"style": "8", "on": True, "r": 0.5, "no": None}),
        (["answer.style=a=b"], {"style": "a=b"}),
    ],
)  # fmt: skip
def test_the_last_value_counts_and_is_read_as_yaml(settings: list[str], answer: dict[str, object]) -> None:
    assert load_config(None, settings).answer == answer


@pytest.mark.parametrize("matrix", ["matrix:", "matrix: {answer.top_k: [1], seed: [1, 2]}", "matrix: [1]"])
def test_an_axis_can_be_set_over_the_file_and_leaves_the_others(write: Write, matrix: str) -> None:
    config = load_config(write(matrix), ["matrix.answer.top_k=[2]"])
    assert config.matrix == {**({"seed": (1, 2)} if "seed" in matrix else {}), "answer.top_k": (2,)}


NO_SETTINGS = {
    **dict.fromkeys(["answer.top_k", "=8", " =8", ""], "write it as key=value, such as --set answer.top_k=8"),
    **dict.fromkeys(["a..b=1", ".=1", "x.=1", ".x=1"], "unknown key"),
    "answer.style=[a": "quote the value",
}


@pytest.mark.parametrize(("setting", "said"), NO_SETTINGS.items())
def test_a_setting_that_is_none_says_how_to_write_one(setting: str, said: str) -> None:
    assert said in refusal(None, setting)


# Files that cannot be read

NO_CONFIGS = {
    b"systems: [naive]\ndataset: {name: demo\nseed: 1\n": "is not valid YAML (line 3: ",
    b"seed: \x07": "is not valid YAML",
    **dict.fromkeys([b"- systems", b"naive", b"3"], "contains no mapping of keys: start with lines such as"),
    "dataset: {name: d\u00e4mo}".encode("latin-1"): "is not UTF-8: save it as UTF-8",
}


@pytest.mark.parametrize(("content", "said"), NO_CONFIGS.items())
def test_a_file_that_is_no_config_is_one_line(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "bench.yaml"
    path.write_bytes(content)
    line = refusal(path)
    assert str(path) in line
    assert said in line


def test_a_file_that_is_not_there_names_the_nearest_and_a_folder_is_none(write: Write) -> None:
    there = write("{}")
    assert f"did you mean '{there}'?" in refusal(there.with_name("bensch.yaml"))
    assert "check the path" in refusal(there.parent / "no" / "such.yaml")
    assert "Is a directory" in refusal(there.parent)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("!!int x", "invalid literal"),
        ("!!int ''", "an impossible value"),
        ("!!timestamp x", "an impossible value"),
        ("[" * 3000, "nested too deeply"),
    ],
)
def test_a_value_that_yaml_cannot_make_is_one_line(value: str, reason: str) -> None:
    assert reason in refusal(None, f"seed={value}")


@pytest.mark.parametrize(
    "value",
    [
        "!!python/object/apply:os.system ['touch {marker}']",
        "!!python/object/new:os.system ['touch {marker}']",
    ],
)
def test_a_tag_that_would_run_code_is_refused_and_runs_nothing(write: Write, tmp_path: Path, value: str) -> None:
    marker = tmp_path / "pwned"
    tagged = value.format(marker=marker)
    assert "is not valid YAML" in refusal(write(f"seed: {tagged}"))
    assert refusal(None, f"seed={tagged}").startswith("--set seed: ")
    assert not marker.exists()


# Secrets


@pytest.mark.parametrize("role", ["generator", "embedder"])
def test_a_key_where_its_variable_should_be_named_is_refused_without_repeating_it(role: str) -> None:
    line = refusal(None, f"models.{role}.api_key_env=sk-proj-hunter2")
    assert line.startswith(f"models.{role}.api_key_env: must be the name of an environment variable")
    assert "hunter2" not in line


def test_a_key_in_quotes_may_hold_dots_and_signs_of_equality() -> None:
    name = "http://127.0.0.1:8000/a=b"
    config = load_config(None, [f'per_system."{name}".answer.version=2024-05'])
    assert config.per_system[name].answer == {"version": "2024-05"}
    with pytest.raises(ConfigError, match="write it as key=value"):
        load_config(None, ['per_system."http://h.answer.version=1'])
    with pytest.raises(ConfigError, match="a quotation mark is missing"):
        expand(load_config({"matrix": {'answer."top_k': [1]}}))
