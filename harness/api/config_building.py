"""Builds a checked config from the arguments of a command or an API call."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.api.untrusted_config import reject_untrusted_prices
from harness.config import OWN_DOCUMENTS, BenchConfig
from harness.config.load import Tree, build_config, load_config, parse_setting, read_yaml, set_value
from harness.config.shipped_files import config_path, shipped_configs
from harness.core.errors import ConfigError
from harness.statistics.prices import Prices, load_prices
from harness.store import RunDir

_OF_A_CLUSTER = frozenset({"executor", "ray_address", "workers"})


@dataclass(frozen=True)
class DatasetChoice:
    """The data set as given by the caller. None: from the config."""

    name: str | None = None
    docs: str | Path | None = None
    """The folder of the data set; a folder of documents if no data set is named."""
    questions: str | Path | None = None
    """A file of questions about the documents."""
    include: tuple[str, ...] = ()
    """Patterns of files to read although an ignore rule excludes them."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """Field of a question -> column of the question file."""

    @property
    def settings(self) -> list[str]:
        said: dict[str, Any] = {
            "name": OWN_DOCUMENTS if self.name is None and self.docs is not None else self.name,
            "path": self.docs,
            "questions": self.questions,
            "options.include": list(self.include) or None,
            "options.fields": dict(self.fields) or None,
        }
        return as_settings({f"dataset.{key}": value for key, value in said.items() if value is not None})

    @property
    def is_own_documents(self) -> bool:
        return self.docs is not None and self.name in {None, OWN_DOCUMENTS}


CONFIGURED = DatasetChoice()


def bench_config(
    source: Path | Mapping[str, Any] | None = None,
    *,
    systems: Sequence[str] = (),
    dataset: DatasetChoice = CONFIGURED,
    measure: str | None = None,
    name: str | None = None,
    settings: Sequence[str] = (),
) -> BenchConfig:
    """Load a config file or mapping, then apply the other arguments; `settings` (`key=value`) come last."""
    chosen = [f"systems={json.dumps(list(systems))}"] if systems else []
    chosen += dataset.settings
    said = {"measure": measure, "name": name}
    chosen += as_settings({key: value for key, value in said.items() if value is not None})
    return load_config(source, [*chosen, *settings])


def bench_configs(
    sources: Sequence[Path] | None = None,
    *,
    systems: Sequence[str] = (),
    dataset: DatasetChoice = CONFIGURED,
    measure: str | None = None,
    name: str | None = None,
    settings: Sequence[str] = (),
) -> list[BenchConfig]:
    """One config for each file, all with the same arguments. Without files, for a folder of documents: retrieval,
    then answers (`configs/bench/documents*.yaml`), or only answers if systems are named; otherwise the defaults.
    Settings of the generator are for the answers: retrieval calls none.
    """

    def config(file: Path | None, settings: Sequence[str] = settings) -> BenchConfig:
        return bench_config(file, systems=systems, dataset=dataset, measure=measure, name=name, settings=settings)

    if sources or not dataset.is_own_documents:
        return [config(file) for file in sources or (None,)]
    # Not a file of the same name in the current folder, which may be somebody else's.
    shipped = shipped_configs() / "bench"
    if systems:
        return [config(shipped / "documents.yaml", ["matrix={}", "exclude=[]", *settings])]
    answers = config(shipped / "documents.yaml")
    without_model = [setting for setting in settings if not setting.startswith("models.generator.")]
    retrieval = config(shipped / "documents_retrieval.yaml", without_model)
    return [retrieval] if answers.models.generator.is_none else [retrieval, answers]


def as_settings(settings: Mapping[str, object]) -> list[str]:
    """A mapping of dotted keys as `key=value`. Paths become texts, numpy numbers become numbers."""
    return [f"{key}={_written(key, value)}" for key, value in settings.items()]


def as_names(names: Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def evaluation_config(
    run: RunDir, path: Path | None = None, evaluators: Sequence[str] = (), settings: Sequence[str] = ()
) -> BenchConfig:
    """The config for evaluating a run: a file, or the run's own evaluators, with `evaluators` and `settings`."""
    tree = read_yaml(path) if path else _own_config(run.manifest().config)
    if evaluators:
        tree["evaluators"] = list(evaluators)
    for setting in settings:
        set_value(tree, *parse_setting(setting))
    return build_config(tree)


def price_table(own: str | Path | None = None) -> Prices:
    """The shipped price table, overridden by the entries of the file `own`."""
    return load_prices(config_path(Path(own)) if own else None)


def prices_of_runs(runs: Iterable[RunDir], own: str | Path | None = None) -> Prices:
    """The price table for these runs: `own`, or else the shipped one. ConfigError if a run was made with another
    table and `own` is None: all rows must use the same prices, and a file named by a run is never read.
    """
    if own is None:
        reject_untrusted_prices(runs)
    return price_table(own)


def _written(key: str, value: object) -> str:
    try:
        return json.dumps(value, default=_plain)
    except (TypeError, ValueError) as error:
        what = f"{key}: {str(value)[:80]!r} is not a config value ({error})"
        raise ConfigError(what, "give plain values") from error


def _plain(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):  # numpy's scalars and arrays.
        return value.tolist()
    raise TypeError(f"a {type(value).__name__}")


def _own_config(config: Mapping[str, Any]) -> Tree:
    """The part of a run's config that its evaluation uses. Where the run was executed does not matter here."""
    own = {key: config[key] for key in ("evaluators", "runner") if key in config}
    if isinstance(runner := own.get("runner"), Mapping):
        own["runner"] = {key: value for key, value in runner.items() if key not in _OF_A_CLUSTER}
    return own


def named_judge(judge: str | None) -> tuple[str, ...]:
    """Parse `PROVIDER/MODEL` into `key=value` settings; ConfigError for anything else."""
    if judge is None:
        return ()
    provider, slash, model = judge.partition("/")
    if not provider or (slash and not model):
        raise ConfigError(f"--judge {judge!r} is not a model", "write PROVIDER/MODEL, or PROVIDER for its default")
    named = as_settings({"models.judge.model": model}) if model else []
    return (*as_settings({"models.judge.provider": provider}), *named)
