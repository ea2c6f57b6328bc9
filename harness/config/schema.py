"""Every key a config file may hold, with its default and what it means."""

import os
import re
from typing import Any, ClassVar, Literal
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from harness.outside import without_keys
from harness.plain_files import without_home
from harness.records import AnswerStyle


class ConfigSection(BaseModel):
    """Base of every section: immutable, unknown keys refused, no NaN."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def check_url(url: str | None) -> str | None:
    """A base_url that a client can use and that holds no secret, or ValueError."""
    if url is None:
        return None
    if set(url) & {"@", "?", "#", ";", "\\"}:
        raise ValueError(f"must hold no user, password, query or fragment: {_OWN_PLACE}")
    if _HOLDS_KEY.search(unquote(url)) or without_keys(url) != url:
        raise ValueError(f"must hold no key in its path: {_OWN_PLACE}")
    try:
        parts = urlsplit(url)
        # As every client encodes it: labels that are empty or too long are no host.
        host = (parts.hostname or "").encode("idna")
        usable = parts.scheme in {"http", "https"} and bool(host) and parts.port != 0 and url.isprintable()
    except ValueError:
        usable = False
    if not usable:
        raise ValueError("must be a URL such as http://127.0.0.1:8000/v1")
    return url


def check_variable(name: str | None) -> str | None:
    """The name of an environment variable, or ValueError: whoever puts the key itself there is told in time."""
    if name is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError("must be the name of an environment variable, such as OPENAI_API_KEY, never the key")
    return name


LONGEST_S = 1e8
"""Three years: what is longer, clocks and sockets cannot count."""
MOST_AT_ONCE = 10_000
_OWN_PLACE = "put the key into a variable of the environment and name that in api_key_env"
_HOLDS_KEY = re.compile(
    r"/(sk|pk|rk|hf|gsk|xai|ghp|key|token)[-_=][\w.~+=-]{8,}"
    # Long, in both cases and with digits: an id of an account or a deployment is in one case.
    r"|/(?=[^/]*[a-z])(?=[^/]*[A-Z])(?=[^/]*\d)[\w.~+=-]{20,}(/|$)"
)
"""A part of a path as keys look."""
NO_MODEL = "none"
"""The provider of a role that nobody plays."""
DATASET_PLACES = {"path": "--docs FOLDER", "questions": "--questions FILE"}
"""What a data set may be given by a key of its own, and the flag of each; all else is one of its options."""
OWN_DOCUMENTS = "files"
"""The data set of documents in a folder: what `--docs` means where no data set is named."""


class SampleConfig(ConfigSection):
    """A stratified sample."""

    per_type: int = Field(50, ge=1)
    """Queries of each type (all of a type that has fewer)."""
    seed: int = 42


class DatasetConfig(ConfigSection):
    """Which queries over which documents."""

    name: str = "demo"
    subset: str | None = None
    """A named part of the data set, such as v2.1 of ms_marco; None: its default."""
    path: str | None = None
    """Where it lies, for a data set that has no place of its own, as `files`: a folder of documents (`--docs`). In
    no run id: the digest of what was read is. Begins with `~` where it is in the home folder."""
    questions: str | None = None
    """A file of questions about its documents (`--questions`). Likewise."""
    options: dict[str, Any] = {}
    """The data set's own, as ms_marco's distractors. Likewise."""
    sample: SampleConfig | Literal["full"] = SampleConfig()
    """Where `questions` names a file, every question of it unless something else is said here."""
    corpus: Literal["full", "cited"] = "full"
    """`full`: every document; `cited`: only those that the data set attaches to a sampled query (easier)."""

    @model_validator(mode="before")
    @classmethod
    def _all_that_a_file_asks(cls, given: object) -> object:
        if isinstance(given, dict) and given.get("questions") is not None and "sample" not in given:
            return {**given, "sample": "full"}
        return given

    @field_validator("path", "questions", mode="before")
    @classmethod
    def _without_home(cls, path: object) -> object:
        return without_home(os.fspath(path)) if isinstance(path, str | os.PathLike) else path


class ModelConfig(ConfigSection):
    """What any model role has in common."""

    role: ClassVar[str]
    """Its place under `models`, and the name under which its calls are counted."""
    provider: str
    model: str | None = None
    """A name the provider knows; None: its default."""
    base_url: str | None = None
    api_key_env: str | None = None
    """The name of the environment variable that holds the key; the key itself never stands in a config."""
    timeout_s: float = Field(600.0, gt=0, le=LONGEST_S)
    """One HTTP request."""
    max_retries: int = Field(6, ge=0, le=100)
    """Of a call, after a failure that may pass. A 429 is none: it is tried again while the server answers any."""
    max_concurrency: int = Field(8, ge=1, le=MOST_AT_ONCE)
    """Requests under way at once; halved at every 429, regained slowly."""
    requests_per_minute: float | None = Field(None, gt=0)
    tokens_per_minute: float | None = Field(None, gt=0)
    """What the provider allows, prompts and replies together. Without both they are what it says (x-ratelimit-*),
    or what it is seen to let through; waiting for them is no latency."""
    max_retry_after_s: float = Field(120.0, gt=0, le=LONGEST_S)
    """The longest wait that a server can ask for (Retry-After): then it is asked again."""
    max_throttled_s: float = Field(900.0, gt=0, le=LONGEST_S)
    """A server that answers nothing but 429 for so long stops the run, which resumes."""
    options: dict[str, Any] = {}
    """The provider's own: for local context_tokens, threads, path; for minilm threads; for fake its script."""

    @property
    def is_none(self) -> bool:
        """Whether nobody plays the role."""
        return self.provider == NO_MODEL

    @field_validator("base_url")
    @classmethod
    def _plain_url(cls, url: str | None) -> str | None:
        return check_url(url)

    @field_validator("api_key_env")
    @classmethod
    def _name_of_a_variable(cls, name: str | None) -> str | None:
        return check_variable(name)


class GeneratorConfig(ModelConfig):
    """The model that writes answers."""

    role: ClassVar[str] = "generator"
    provider: str = "local"
    """local, openai, ollama, vllm, openai-compatible (needs base_url), fake, or none (retrieval alone)."""
    temperature: float = Field(0.0, ge=0)
    max_tokens: int = Field(256, ge=1)
    seed: int | None = 0
    """Sent to the server where not None."""


class EmbedderConfig(ModelConfig):
    """The model that turns texts into vectors."""

    role: ClassVar[str] = "embedder"
    provider: str = "minilm"
    """minilm (all-MiniLM-L6-v2, on this machine), sentence-transformers, openai, ollama, vllm, fake, ..., or none
    for systems that embed nothing."""
    batch_size: int = Field(32, ge=1)
    """Texts in one request, and between two commits to the embedding cache."""


class JudgeConfig(GeneratorConfig):
    """The model that judges answers; in no run id, its cost is not the system's."""

    role: ClassVar[str] = "judge"
    model: str | None = None
    """None: the provider's default; for local qwen2.5-coder-1.5b, since a smaller one cannot judge."""
    max_tokens: int = Field(1024, ge=1)
    """Judgements list statements one by one, so they are longer than answers."""


class JudgeEmbedderConfig(EmbedderConfig):
    """The embedder of evaluators that compare meanings: the same for every run, whatever its system has."""

    role: ClassVar[str] = "judge_embedder"


class ModelsConfig(ConfigSection):
    """Which model plays which role."""

    generator: GeneratorConfig = GeneratorConfig()
    embedder: EmbedderConfig = EmbedderConfig()
    judge: JudgeConfig = JudgeConfig()
    """For evaluators that ask a model; none is started for those that do not."""
    judge_embedder: JudgeEmbedderConfig = JudgeEmbedderConfig()


class LimitsConfig(ConfigSection):
    """Limits that can change a result, and so are part of the run id."""

    query_timeout_s: float = Field(600.0, gt=0, le=LONGEST_S)
    concurrency: int = Field(1, ge=1, le=MOST_AT_ONCE)
    """Queries answered side by side. 1 gives clean latencies on one machine."""


class RunnerConfig(ConfigSection):
    """How a run is watched; changes no result and no run id."""

    resources_interval_s: float = Field(2.0, gt=0, le=LONGEST_S)
    failure_tolerance: float = Field(0.1, ge=0, le=1)
    """The share of failed queries beyond which the command exits with 3."""


class BudgetConfig(ConfigSection):
    """What a benchmark may take at most; in no run id. None: no limit.

    It stops before a limit is passed, and the same command with a larger one goes on: `--set budget.usd=2`.

    Dollars and tokens are counted over all that the cells of the config have paid so far, whenever that was: their
    answers, the indexes and the judgements that they were the ones to pay. What a journal replays is paid no more.
    """

    usd: float | None = Field(None, gt=0)
    """US dollars by configs/prices.yaml. A model without a price there is refused before anything starts."""
    tokens: int | None = Field(None, gt=0)
    """Input and output tokens, as the servers of the models count them, local ones too; minilm counts none."""
    minutes: float | None = Field(None, gt=0, le=LONGEST_S)
    """Wall time of one command over this config: each resume has all of them again. Weights that are fetched first
    do not count."""


class RaceConfig(ConfigSection):
    """Cells race: they take turns, and who is shown to be worse than another is asked no more. It is decided when
    one is left, or all that are left are within the margin of each other.

    All that a race states is true together with a chance of 1 - alpha at least, over all pairs, however often one
    looks: after every query it does. By the measure that ranks, which no model may judge.
    """

    margin: float | None = Field(None, gt=0, le=100)
    """In points; None: that of the config."""
    alpha: float = Field(0.05, gt=0, le=0.5)


class SystemOverrides(ConfigSection):
    """Parameters for one system only."""

    index: dict[str, Any] = {}
    answer: dict[str, Any] = {}


class BenchConfig(ConfigSection):
    """One benchmark: the cells it spans are systems x matrix, minus exclude."""

    systems: tuple[str, ...] = ("naive",)
    dataset: DatasetConfig = DatasetConfig()
    models: ModelsConfig = ModelsConfig()
    index: dict[str, Any] = {}
    """Index parameters for every selected system that has them; a key that none has is refused."""
    answer: dict[str, Any] = {}
    """Answer parameters, likewise."""
    answer_style: AnswerStyle | None = None
    """`short`: a word or name; `sentence`: one or two sentences. None: as the data set's references are."""
    per_system: dict[str, SystemOverrides] = {}
    limits: LimitsConfig = LimitsConfig()
    runner: RunnerConfig = RunnerConfig()
    budget: BudgetConfig = BudgetConfig()
    schedule: Literal["cells", "interleaved"] = "cells"
    """In no run id. `cells`: one after another. `interleaved`: cells take turns in one random order of queries,
    drawn from `seed` and stratified by type, so that all of them hold the same first ones when the budget ends.
    They are then done over those, evaluators that need no model score them, beyond the minutes if need be, and the
    same command goes on."""
    race: RaceConfig | None = None
    """In no run id. Implies `schedule: interleaved`; `race: {}` is one with the defaults."""
    prices: str | None = None
    """A price table of your own (as configs/prices.yaml), whose entries come before those that ship."""
    seed: int = 0
    repeats: int = Field(1, ge=1, le=1000)
    evaluators: tuple[str, ...] = ("answer", "retrieval", "causes")
    measure: str | None = None
    """The one that ranks the systems; None: the data set's own."""
    margin: float = Field(5.0, gt=0, le=100)
    """In points, hundredths of what the measure ranges over: a system that is worse by less is as good."""
    per_evaluator: dict[str, dict[str, Any]] = {}
    """Parameters of an evaluator by its name (`per_evaluator.bertscore.model`)."""
    matrix: dict[str, tuple[Any, ...]] = {}
    """Dotted key -> values; every combination is a cell (`answer.top_k: [1, 5, 10]`)."""
    exclude: tuple[dict[str, Any], ...] = ()
    """Combinations to leave out; each a set of dotted keys with their values."""
