"""The keys of a config file, with defaults and meanings. `rag-harness init` prints these docstrings."""

import json
import os
import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from harness.core.bounded_files import without_home
from harness.core.records import AnswerStyle
from harness.core.sanitize import OWN_PLACE, check_url, check_variable, without_keys


class ConfigSection(BaseModel):
    """Base of every section: immutable, rejects unknown keys and NaN."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


_SET_BY = {
    "model": "it has its own key in the config",
    "temperature": "it has its own key in the config",
    "max_tokens": "it has its own key in the config",
    "max_completion_tokens": "max_tokens is sent under this name if the server requires it (see send_as)",
    "seed": "it has its own key in the config",
    **dict.fromkeys(("messages", "input", "system", "response_format"), "the harness sets it"),
    **dict.fromkeys(("stream", "stream_options"), "token usage of a streamed call would not be counted"),
    "n": "the harness requests and reads one reply",
    "encoding_format": "vectors are read as numbers, the default",
    **dict.fromkeys(("api_key", "api-key", "authorization"), "the key comes from the variable in api_key_env"),
}
"""Parameters that `extra` must not contain, with the reason."""
Sendable = Literal["temperature", "max_tokens", "seed", "response_format"]
"""Parameters of ours that a server may reject."""
LONGEST_S = 1e8
"""Three years: clocks and sockets cannot handle more."""
MOST_AT_ONCE = 10_000
NO_MODEL = "none"
"""The provider of an unused role."""
LOCAL_EXECUTOR = "local"
"""The value of `runner.executor` for this machine."""
DATASET_PLACES = {"path": "--docs FOLDER", "questions": "--questions FILE"}
"""Keys of the data set with a command-line option, and that option. All other keys are data set options."""
OWN_DOCUMENTS = "files"
"""The data set for a folder of documents, used for `--docs` without `--dataset`."""


class SampleConfig(ConfigSection):
    """A stratified sample."""

    per_type: int | None = Field(50, ge=1)
    """Queries of each type; all of them if a type has fewer. None: all."""
    seed: int = 42
    """Random seed of the sample."""
    holdout: float = Field(0.0, ge=0, le=0.9)
    """Share of the sampled queries of each type that no run answers. Only the gate asks them, and logs that it did
    (`rag-harness gate RUN --holdout`)."""


class DatasetConfig(ConfigSection):
    """The queries and the documents."""

    name: str = "demo"
    """For the names: `rag-harness list datasets`."""
    subset: str | None = None
    """Name of a part of the data set, such as v2.1 of ms_marco; None: its default part."""
    path: str | None = None
    """Folder of the data set `files` (`--docs`), and of any other that has no fixed location. Not in the run id,
    which has the digest of the content. A path in the home folder begins with `~`."""
    questions: str | None = None
    """File with questions about its documents (`--questions`). Not in the run id either."""
    options: dict[str, Any] = {}
    """Options of the data set, such as `queries` of ms_marco. Not in the run id either."""
    sample: SampleConfig | Literal["full"] = SampleConfig()
    """A sample of each query type, or `full` for all queries. Default `full` if `questions` is set."""
    corpus: Literal["full", "cited"] = "full"
    """`full`: all documents; `cited`: only those that the data set attaches to a sampled query (easier)."""

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
    """Keys that all model roles share."""

    role: ClassVar[str]
    """The key under `models`, and the name under which calls are counted."""
    provider: str
    """For the names: `rag-harness list providers`."""
    model: str | None = None
    """Name of the model at the provider; None: the provider's default."""
    base_url: Annotated[str | None, AfterValidator(check_url)] = None
    """URL of the server; None: the provider's own."""
    api_key_env: Annotated[str | None, AfterValidator(check_variable)] = None
    """Name of the environment variable with the key. The key itself must not be in a config."""
    timeout_s: float = Field(600.0, gt=0, le=LONGEST_S)
    """Time limit of one HTTP request."""
    max_retries: int = Field(6, ge=0, le=100)
    """Retries of a call after a transient failure. Not for 429: it is retried while the server answers other
    calls."""
    max_concurrency: int = Field(8, ge=1, le=MOST_AT_ONCE)
    """Maximum number of parallel requests; halved after every 429, then slowly increased again."""
    requests_per_minute: float | None = Field(None, gt=0)
    """Rate limit of the provider."""
    tokens_per_minute: float | None = Field(None, gt=0)
    """Rate limit of the provider, prompt and completion tokens together. Without both limits, the harness uses the
    headers x-ratelimit-* or learns from 429 replies. Waiting for a rate limit is not latency."""
    max_retry_after_s: float = Field(120.0, gt=0, le=LONGEST_S)
    """Longest Retry-After that is respected; then the call is sent again."""
    max_throttled_s: float = Field(900.0, gt=0, le=LONGEST_S)
    """If a server answers nothing but 429 for this long, the run stops. It can be resumed."""
    options: dict[str, Any] = {}
    """Options of the provider. local: context_tokens, parallel, threads, path; minilm: threads; azure:
    api_version; fake: its script."""
    extra: dict[str, Any] = {}
    """Parameters added to every request, such as top_p or reasoning_effort. Part of the run id."""

    @property
    def is_none(self) -> bool:
        """Whether the role is unused."""
        return self.provider == NO_MODEL

    @property
    def label(self) -> str:
        """`provider/model`."""
        return f"{self.provider}/{self.model}"

    @property
    def described(self) -> str:
        """`embedder MODEL at URL`."""
        return f"{self.role} {self.model} at {self.base_url}"

    @field_validator("extra")
    @classmethod
    def _neither_reserved_nor_secret(cls, extra: dict[str, Any]) -> dict[str, Any]:
        for name in extra:
            if name in _SET_BY:
                raise ValueError(f"must not contain '{name}': {_SET_BY[name]}")
        try:
            written = json.dumps(extra, allow_nan=False)
        except (TypeError, ValueError):
            raise ValueError("must contain only JSON values: texts, numbers, lists, mappings") from None
        if without_keys(written) != written:
            raise ValueError(f"must not contain a key: {OWN_PLACE}")
        return extra


class GeneratorConfig(ModelConfig):
    """The model that writes answers."""

    role: ClassVar[str] = "generator"
    provider: str = "local"
    """local, openai, azure, anthropic, ollama, vllm, openai-compatible (needs base_url), fake, or none (retrieval
    only)."""
    temperature: float | None = Field(0.0, ge=0)
    """Sampling temperature; None: not sent."""
    max_tokens: int = Field(256, ge=1)
    """Maximum completion tokens of a reply. A reasoning model also spends them on reasoning."""
    reasoning_tokens: int = Field(0, ge=0)
    """Added to the limit of every call for reasoning; many calls set a limit of their own. Paid as output."""
    seed: int | None = 0
    """Sampling seed, for servers that support one; None: not sent."""
    send_as: dict[Sendable, str | None] = {}
    """Parameters that the server expects under another name, or not at all
    (`{max_tokens: max_completion_tokens, seed: null}`). Otherwise this is learnt once, from its error."""
    omit: tuple[str, ...] = ()
    """Parameters that are never sent, such as `[seed, response_format]`, by us or by a pipeline that is lent the
    model. For a server that refuses one in words that are not understood."""

    @property
    def sent_as(self) -> dict[str, str | None]:
        """`send_as` and `omit` as one."""
        names: dict[str, str | None] = dict(self.send_as.items())
        return names | dict.fromkeys(self.omit)

    @field_validator("omit")
    @classmethod
    def _never_needed(cls, omit: tuple[str, ...]) -> tuple[str, ...]:
        needed = {"model", "messages", "max_tokens", "max_completion_tokens"} & {*omit}
        if needed:
            raise ValueError(
                f"must not contain '{min(needed)}': without it there is no reply, or its cost has no limit"
            )
        return omit

    @field_validator("send_as")
    @classmethod
    def _bounded_and_free(cls, send_as: dict[Sendable, str | None]) -> dict[Sendable, str | None]:
        if "max_tokens" in send_as and send_as["max_tokens"] is None:
            raise ValueError("must give max_tokens a name: without it the cost of a reply has no limit")
        taken = [name for name in send_as.values() if name in _SET_BY and name not in send_as]
        if taken and taken != ["max_completion_tokens"]:
            raise ValueError(f"must not send anything as '{taken[0]}', which is a parameter of its own")
        return send_as


class EmbedderConfig(ModelConfig):
    """The model that turns texts into vectors."""

    role: ClassVar[str] = "embedder"
    provider: str = "minilm"
    """minilm (all-MiniLM-L6-v2, on this machine), sentence-transformers, openai, ollama, vllm, fake, ..., or none
    for systems without an embedder."""
    batch_size: int = Field(32, ge=1)
    """Texts per request, and per write to the embedding cache."""


class JudgeConfig(GeneratorConfig):
    """The model that judges answers. Not in the run id; its cost is not the system's."""

    role: ClassVar[str] = "judge"
    model: str | None = None
    """None: the provider's default. For local this is qwen2.5-coder-1.5b, because a smaller one cannot judge."""
    max_tokens: int = Field(1024, ge=1)
    """Judgements list statements one by one, so they are longer than answers."""


class JudgeEmbedderConfig(EmbedderConfig):
    """The embedder of evaluators that compare meanings. The same for all runs, whatever embedder they use."""

    role: ClassVar[str] = "judge_embedder"


class ModelsConfig(ConfigSection):
    """The model of each role."""

    generator: GeneratorConfig = GeneratorConfig()
    embedder: EmbedderConfig = EmbedderConfig()
    judge: JudgeConfig = JudgeConfig()
    """Used by evaluators that need a judge; not started otherwise."""
    judge_embedder: JudgeEmbedderConfig = JudgeEmbedderConfig()


class LimitsConfig(ConfigSection):
    """Limits that can change a result. They are part of the run id."""

    query_timeout_s: float = Field(600.0, gt=0, le=LONGEST_S)
    """A query without an answer after this time has failed. Waiting for a rate limit does not count."""
    concurrency: int = Field(1, ge=1, le=MOST_AT_ONCE)
    """Queries answered in parallel. 1 gives undisturbed latencies on one machine."""


class RunnerConfig(ConfigSection):
    """Where and how runs are executed. Not in the run id."""

    resources_interval_s: float = Field(2.0, gt=0, le=LONGEST_S)
    """Seconds between two samples of CPU and RAM."""
    failure_tolerance: float = Field(0.1, ge=0, le=1)
    """If more than this share of queries fails, the command exits with 3."""
    executor: str = LOCAL_EXECUTOR
    """Where systems and evaluators run. `local`: on this machine, one configuration after another. `ray`: on the
    machines of a Ray cluster, with configurations and parts of their queries in parallel."""
    ray_address: str | None = None
    """HOST:PORT of the cluster. `local`: a cluster on this machine only, started for this command. None: the
    cluster that this machine belongs to."""
    workers: int | None = Field(None, ge=1, le=MOST_AT_ONCE)
    """Maximum number of workers on the cluster; None: one per processor."""


class BudgetConfig(ConfigSection):
    """Maximum spend of a benchmark. Not in the run id. None: no limit.

    The run stops before a limit is exceeded. To resume, repeat the command with a larger one: `--set
    budget.usd=2`.

    Dollars and tokens include all that the runs of this config have paid at any time: their answers, indexes and
    judgements. Calls replayed from the journal are not paid again.
    """

    usd: float | None = Field(None, gt=0)
    """US dollars at configs/prices.yaml. A model without a price is rejected before anything starts."""
    tokens: int | None = Field(None, gt=0)
    """Prompt and completion tokens as counted by the model servers, local ones included. minilm counts none."""
    minutes: float | None = Field(None, gt=0, le=LONGEST_S)
    """Wall time of one command; a resumed command has the full time again. Configs of one command that name the
    same minutes share them. Downloads of model weights before the start do not count."""

    @property
    def is_limited(self) -> bool:
        """Whether there is any limit."""
        return self.usd is not None or self.tokens is not None or self.minutes is not None


class RaceConfig(ConfigSection):
    """A race between systems. They take turns, and systems that are significantly worse than another are
    eliminated. The race ends when one is left, or when all that are left are within the margin of each other.

    All statements of a race together are true with probability 1 - alpha at least, although it tests every pair
    after every query. It uses the primary metric, which must not need a judge.
    """

    margin: float | None = Field(None, gt=0, le=100)
    """In points; None: the margin of the config."""
    alpha: float = Field(0.05, gt=0, le=0.5)
    """Largest probability that any statement of the race is wrong."""


class SystemOverrides(ConfigSection):
    """Parameters for one system only."""

    index: dict[str, Any] = {}
    """Overrides shared index parameters."""
    answer: dict[str, Any] = {}
    """Overrides shared answer parameters."""


class BenchConfig(ConfigSection):
    """One benchmark: systems x matrix, minus exclude. Each combination is a run."""

    systems: tuple[str, ...] = ("naive",)
    """The systems to compare; for the names: `rag-harness list systems`."""
    dataset: DatasetConfig = DatasetConfig()
    models: ModelsConfig = ModelsConfig()
    index: dict[str, Any] = {}
    """Index parameters, for every selected system that has them. A key that no system has is an error."""
    answer: dict[str, Any] = {}
    """Answer parameters, for every selected system that has them."""
    answer_style: AnswerStyle | None = None
    """`short`: a word or name; `sentence`: one or two sentences. None: like the data set's reference answers."""
    per_system: dict[str, SystemOverrides] = {}
    """Parameters for single systems: a name with its own `index` and `answer`."""
    limits: LimitsConfig = LimitsConfig()
    runner: RunnerConfig = RunnerConfig()
    budget: BudgetConfig = BudgetConfig()
    schedule: Literal["in_order", "interleaved"] | None = None
    """Not in the run id. `in_order`: one run after another. `interleaved`: runs take turns over the same queries,
    in a random order drawn from `seed` and stratified by type, so that all have answered the same queries when the
    budget is exhausted. They are then complete over those queries, and evaluators without a model score them, if
    need be beyond the minutes. The same command resumes. None: `interleaved` if a budget limits several runs."""
    race: RaceConfig | None = None
    """Not in the run id. Implies `schedule: interleaved`; `race: {}` uses the defaults."""
    prices: str | None = None
    """Your price table, in the form of configs/prices.yaml. Its entries override those."""
    seed: int = 0
    """Random seed of the systems."""
    repeats: int = Field(1, ge=1, le=1000)
    """How often each query is answered."""
    evaluators: tuple[str, ...] = ("answer", "retrieval", "failure_analysis")
    """The evaluators that score the answers; for the names: `rag-harness list evaluators`."""
    measure: str | None = None
    """The primary metric, which ranks the systems; None: from the data set."""
    margin: float = Field(5.0, gt=0, le=100)
    """In points, hundredths of the metric's range: a system that is worse by less than this is as good."""
    per_evaluator: dict[str, dict[str, Any]] = {}
    """Parameters of an evaluator, by its name (`per_evaluator.bertscore.model`)."""
    name: str | None = None
    """Your name for the runs of this config (`--name`), in reports and for commands. Not in the run id."""
    matrix: dict[str, tuple[Any, ...]] = {}
    """Dotted key -> values. Every combination is a run (`answer.top_k: [1, 5, 10]`)."""
    exclude: tuple[dict[str, Any], ...] = ()
    """Combinations to leave out, each a set of dotted keys with their values."""

    @field_validator("name")
    @classmethod
    def _can_be_typed(cls, name: str | None) -> str | None:
        if name is not None and not re.fullmatch(r"\w[\w .+-]{0,39}", name):
            raise ValueError("must be at most 40 letters, digits, spaces, and . _ + -, first a letter or digit")
        return name
