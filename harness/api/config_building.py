"""From what a caller says to a checked config."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.api.config_of_a_run import refuse_unsaid_prices
from harness.config import OWN_DOCUMENTS, BenchConfig
from harness.config.load import Tree, build_config, load_config, parse_setting, read_yaml, set_value
from harness.config.shipped_files import config_path
from harness.core.errors import ConfigError
from harness.statistics.prices import Prices, load_prices
from harness.store import RunDir

_OF_A_CLUSTER = frozenset({"executor", "ray_address", "workers"})


@dataclass(frozen=True)
class DatasetChoice:
    """What a caller says of the data set; None: what the config says."""

    name: str | None = None
    docs: str | Path | None = None
    """Where it lies: a folder of documents where no data set is named."""
    questions: str | Path | None = None
    """A file of questions about them."""
    include: tuple[str, ...] = ()
    """Patterns of files of that folder that are read although a rule leaves them out."""

    @property
    def settings(self) -> list[str]:
        """The same as `key=value`."""
        name = OWN_DOCUMENTS if self.name is None and self.docs is not None else self.name
        include = list(self.include) or None
        said = {"name": name, "path": self.docs, "questions": self.questions, "options.include": include}
        return as_settings({f"dataset.{key}": value for key, value in said.items() if value is not None})


CONFIGURED = DatasetChoice()
"""The data set of the config."""


def bench_config(
    source: Path | Mapping[str, Any] | None = None,
    *,
    systems: Sequence[str] = (),
    dataset: DatasetChoice = CONFIGURED,
    measure: str | None = None,
    settings: Sequence[str] = (),
) -> BenchConfig:
    """A config file, or a mapping of its keys, with the rest on top; `settings` are `key=value` and come last."""
    chosen = [f"systems={json.dumps(list(systems))}"] if systems else []
    chosen += dataset.settings
    chosen += [f"measure={json.dumps(measure)}"] if measure else []
    return load_config(source, [*chosen, *settings])


def bench_configs(
    sources: Sequence[Path] | None = None,
    *,
    systems: Sequence[str] = (),
    dataset: DatasetChoice = CONFIGURED,
    measure: str | None = None,
    settings: Sequence[str] = (),
) -> list[BenchConfig]:
    """Each file with the same on top; without any, the defaults."""
    return [
        bench_config(source, systems=systems, dataset=dataset, measure=measure, settings=settings)
        for source in sources or (None,)
    ]


def as_settings(settings: Mapping[str, object]) -> list[str]:
    """A mapping of dotted keys as `key=value`. A path is its text, and a number of numpy's is a number."""
    return [f"{key}={_written(key, value)}" for key, value in settings.items()]


def as_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names; a text alone is one name, not its letters."""
    return (names,) if isinstance(names, str) else tuple(names)


def evaluation_config(
    run: RunDir, path: Path | None = None, evaluators: Sequence[str] = (), settings: Sequence[str] = ()
) -> BenchConfig:
    """How a run is evaluated: by the config of a file, or else by the evaluators that its own names and the
    defaults; with the rest on top.
    """
    tree = read_yaml(path) if path else _own_config(run.manifest().config)
    if evaluators:
        tree["evaluators"] = list(evaluators)
    for setting in settings:
        set_value(tree, *parse_setting(setting))
    return build_config(tree)


def price_table(own: str | Path | None = None) -> Prices:
    """The entries of that file before the ones that ship."""
    return load_prices(config_path(Path(own)) if own else None)


def prices_of_runs(runs: Iterable[RunDir], own: str | Path | None = None) -> Prices:
    """`own`, or else the table that ships; ConfigError where a run was made with one that nobody named: a dollar
    must be the same in every row, and no run says which file is read.
    """
    if own is None:
        refuse_unsaid_prices(runs)
    return price_table(own)


def _written(key: str, value: object) -> str:
    try:
        return json.dumps(value, default=_plain)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{key}: no config holds {str(value)[:80]!r} ({error})", "give plain values") from error


def _plain(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):  # numpy's scalars and arrays.
        return value.tolist()
    raise TypeError(f"a {type(value).__name__}")


def _own_config(config: Mapping[str, Any]) -> Tree:
    """The part of a run's config that its evaluation reads: see `harness.api.config_of_a_run`. Where the run
    worked is no place to send its answers to.
    """
    own = {key: config[key] for key in ("evaluators", "runner") if key in config}
    if isinstance(runner := own.get("runner"), Mapping):
        own["runner"] = {key: value for key, value in runner.items() if key not in _OF_A_CLUSTER}
    return own


def named_judge(judge: str | None) -> tuple[str, ...]:
    """`PROVIDER/MODEL` as `key=value`; ConfigError for anything else."""
    if judge is None:
        return ()
    provider, slash, model = judge.partition("/")
    if not provider or (slash and not model):
        raise ConfigError(f"--judge {judge!r} is no model", "write PROVIDER/MODEL, or PROVIDER for its default")
    named = as_settings({"models.judge.model": model}) if model else []
    return (*as_settings({"models.judge.provider": provider}), *named)
