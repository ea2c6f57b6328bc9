"""Every key a config file may hold, with its default and what it means."""

import json
import os
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from harness.core.bounded_files import without_home
from harness.core.records import AnswerStyle
from harness.core.sanitize import OWN_PLACE, check_url, check_variable, without_keys


class ConfigSection(BaseModel):
    """Base of every section: immutable, unknown keys refused, no NaN."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def check_extra(extra: dict[str, Any]) -> dict[str, Any]:
    """Parameters that may be sent beside our own, or ValueError."""
    for name in extra:
        if name in _SET_BY:
            raise ValueError(f"must not hold '{name}': {_SET_BY[name]}")
    try:
        written = json.dumps(extra, allow_nan=False)
    except (TypeError, ValueError):
        raise ValueError("must hold what JSON can say: texts, numbers, lists, mappings") from None
    if without_keys(written) != written:
        raise ValueError(f"must hold no key: {OWN_PLACE}")
    return extra


def check_names(send_as: dict["Sendable", str | None]) -> dict["Sendable", str | None]:
    """Other names of our own parameters, or ValueError."""
    if "max_tokens" in send_as and send_as["max_tokens"] is None:
        raise ValueError("must name what max_tokens is sent as: without it nothing bounds what a reply costs")
    taken = [name for name in send_as.values() if name in _SET_BY and name not in send_as]
    if taken and taken != ["max_completion_tokens"]:
        raise ValueError(f"must not send anything as '{taken[0]}', which is sent as itself")
    return send_as


_SET_BY = {
    "model": "it has a key of its own in the config",
    "temperature": "it has a key of its own in the config",
    "max_tokens": "it has a key of its own in the config",
    "max_completion_tokens": "max_tokens is sent as it where the server wants that (see send_as)",
    "seed": "it has a key of its own in the config",
    **dict.fromkeys(("messages", "input", "system", "response_format"), "the harness sends it"),
    **dict.fromkeys(("stream", "stream_options"), "the usage of a streamed call would not be counted"),
    "n": "one reply is asked for, and read",
    "encoding_format": "the harness sends it",
    **dict.fromkeys(("api_key", "api-key", "authorization"), "the variable that api_key_env names holds the key"),
}
"""Why a parameter is none of `extra`."""
Sendable = Literal["temperature", "max_tokens", "seed", "response_format"]
"""What we send that a server may refuse."""
LONGEST_S = 1e8
"""Three years: what is longer, clocks and sockets cannot count."""
MOST_AT_ONCE = 10_000
NO_MODEL = "none"
"""The provider of a role that nobody plays."""
LOCAL_EXECUTOR = "local"
"""The value of `runner.executor` for this machine."""
DATASET_PLACES = {"path": "--docs FOLDER", "questions": "--questions FILE"}
"""What a data set may be given by a key of its own, and the flag of each; all else is one of its options."""
OWN_DOCUMENTS = "files"
"""The data set of documents in a folder: what `--docs` means where no data set is named."""


class SampleConfig(ConfigSection):
    """A stratified sample."""

    per_type: int = Field(50, ge=1)
    """Queries of each type (all of a type that has fewer)."""
    seed: int = 42
    """Which of them are drawn."""


class DatasetConfig(ConfigSection):
    """Which queries over which documents."""

    name: str = "demo"
    """`rag-harness list datasets`."""
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
    """So many queries of each type, drawn by a seed; or `full`, which is meant where `questions` names a file."""
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
    """`rag-harness list providers`."""
    model: str | None = None
    """A name the provider knows; None: its default."""
    base_url: str | None = None
    """Where its server is; None: the provider's own."""
    api_key_env: str | None = None
    """The name of the environment variable that holds the key; the key itself never stands in a config."""
    timeout_s: float = Field(600.0, gt=0, le=LONGEST_S)
    """One HTTP request."""
    max_retries: int = Field(6, ge=0, le=100)
    """Of a call, after a failure that may pass. A 429 is none: it is tried again while the server answers any."""
    max_concurrency: int = Field(8, ge=1, le=MOST_AT_ONCE)
    """Requests under way at once; halved at every 429, regained slowly."""
    requests_per_minute: float | None = Field(None, gt=0)
    """What the provider allows."""
    tokens_per_minute: float | None = Field(None, gt=0)
    """Likewise, prompts and replies together. Without both they are what it says (x-ratelimit-*),
    or what it is seen to let through; waiting for them is no latency."""
    max_retry_after_s: float = Field(120.0, gt=0, le=LONGEST_S)
    """The longest wait that a server can ask for (Retry-After): then it is asked again."""
    max_throttled_s: float = Field(900.0, gt=0, le=LONGEST_S)
    """A server that answers nothing but 429 for so long stops the run, which resumes."""
    options: dict[str, Any] = {}
    """The provider's own: for local context_tokens, threads, path; for minilm threads; for azure api_version; for
    fake its script."""
    extra: dict[str, Any] = {}
    """Sent in every request as it stands, such as top_p or reasoning_effort; part of the run id."""

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

    @field_validator("extra")
    @classmethod
    def _not_our_own(cls, extra: dict[str, Any]) -> dict[str, Any]:
        return check_extra(extra)


class GeneratorConfig(ModelConfig):
    """The model that writes answers."""

    role: ClassVar[str] = "generator"
    provider: str = "local"
    """local, openai, azure, anthropic, ollama, vllm, openai-compatible (needs base_url), fake, or none (retrieval
    alone)."""
    temperature: float | None = Field(0.0, ge=0)
    """Sent to the server where not None, as the seed is."""
    max_tokens: int = Field(256, ge=1)
    """Of a reply; a model that reasons spends them on that first."""
    reasoning_tokens: int = Field(0, ge=0)
    """Room for that, added to what any call may take: many set a limit of their own. It is paid as output."""
    seed: int | None = 0
    """Of its sampling, for servers that know one."""
    send_as: dict[Sendable, str | None] = {}
    """What the server wants by another name, or not at all (`{max_tokens: max_completion_tokens, seed: null}`).
    Without it the same is learnt from its refusal, once."""

    @field_validator("send_as")
    @classmethod
    def _bounded_and_free(cls, send_as: dict[Sendable, str | None]) -> dict[Sendable, str | None]:
        return check_names(send_as)


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
    """A query without an answer by then has failed; waiting for a provider's limit does not count."""
    concurrency: int = Field(1, ge=1, le=MOST_AT_ONCE)
    """Queries answered side by side. 1 gives clean latencies on one machine."""


class RunnerConfig(ConfigSection):
    """How a run is watched, and where; changes no result and no run id."""

    resources_interval_s: float = Field(2.0, gt=0, le=LONGEST_S)
    """Between two samples of CPU and RAM."""
    failure_tolerance: float = Field(0.1, ge=0, le=1)
    """The share of failed queries beyond which the command exits with 3."""
    executor: str = LOCAL_EXECUTOR
    """Where systems and evaluators run: `local`, on this machine, one configuration after another; `ray`, on the
    machines of a Ray cluster, with configurations and parts of their queries side by side."""
    ray_address: str | None = None
    """HOST:PORT of the cluster. `local`: a cluster of this machine only, started for this command. None: the
    cluster that this machine belongs to."""
    workers: int | None = Field(None, ge=1, le=MOST_AT_ONCE)
    """At most so many at once on the cluster; None: one for each of its processors."""


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
    """The chance that anything it states is wrong, at most."""


class SystemOverrides(ConfigSection):
    """Parameters for one system only."""

    index: dict[str, Any] = {}
    """In place of the shared ones."""
    answer: dict[str, Any] = {}
    """Likewise."""


class BenchConfig(ConfigSection):
    """One benchmark: the cells it spans are systems x matrix, minus exclude."""

    systems: tuple[str, ...] = ("naive",)
    """What is compared: `rag-harness list systems`."""
    dataset: DatasetConfig = DatasetConfig()
    models: ModelsConfig = ModelsConfig()
    index: dict[str, Any] = {}
    """Index parameters for every selected system that has them; a key that none has is refused."""
    answer: dict[str, Any] = {}
    """Answer parameters, likewise."""
    answer_style: AnswerStyle | None = None
    """`short`: a word or name; `sentence`: one or two sentences. None: as the data set's references are."""
    per_system: dict[str, SystemOverrides] = {}
    """A system's name -> its own `index` and `answer`."""
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
    """Of whatever a system draws."""
    repeats: int = Field(1, ge=1, le=1000)
    """How often each query is answered."""
    evaluators: tuple[str, ...] = ("answer", "retrieval", "failure_analysis")
    """What scores the answers: `rag-harness list evaluators`."""
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
