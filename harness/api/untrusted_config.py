"""Guards against the config of an untrusted run. The judges, parameters and prices it names are shown, never used:
a judge's URL would receive the texts and the value of an environment variable.
"""

import json
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from harness.config import BenchConfig, JudgeConfig, JudgeEmbedderConfig, RunnerConfig
from harness.config.load import build_config
from harness.core.errors import ConfigError
from harness.core.hashing import flatten
from harness.runner.evaluating.plan import EvaluationPlan, plan_evaluation
from harness.store import RunDir

if TYPE_CHECKING:
    from harness.runner.live_run_check import LiveRun
    from harness.runner.plan import Cell

_ROLES: tuple[type[JudgeConfig | JudgeEmbedderConfig], ...] = (JudgeConfig, JudgeEmbedderConfig)
_TRUST = "add --trust if the run is yours"


def config_to_run_again(run: RunDir, *, trust: bool) -> "tuple[BenchConfig, Cell]":
    """The config of a finished run, for other queries: without its name, race and executor; and the run that it
    plans.

    ConfigError if its system cannot be opened here; if it names servers, keys, code, judges, prices or files of
    its own and is not trusted; or if it would be another run today.
    """
    from harness.runner.live_run_check import live_run
    from harness.runner.plan import plan_cells

    live, config = live_run(run), build_config(run.manifest().config)
    if not trust:
        try:
            reject_untrusted_system(live)
            reject_untrusted_judges(run, plan_evaluation(config), ())
            reject_untrusted_prices([run])
        except ConfigError as error:
            raise ConfigError(error.what, _TRUST) from error
        options = flatten(config.dataset.options).values()
        if config.dataset.path or config.dataset.questions or any(map(_is_place, map(str, options))):
            raise ConfigError(f"{run.run_id} reads files of its own, not used without your consent", _TRUST)
    # A command with several systems also saves what only the others know.
    systems = live.configuration.systems
    own = {
        "index": _known(config.index, [one.index_params for one in systems]),
        "answer": _known(config.answer, [one.answer_params for one in systems]),
    }
    again = config.model_copy(
        update={**own, "name": None, "race": None, "schedule": None, "runner": RunnerConfig()}
    )
    (cell,) = plan_cells(again)
    if cell.run_id != run.run_id:
        what = f"{run.run_id} would be another run today: its data, models or parameters have changed"
        raise ConfigError(what, "run its config again, and name that run")
    return again, cell


def _known(said: Mapping[str, object], of_systems: Sequence[BaseModel]) -> dict[str, object]:
    return {key: value for key, value in said.items() if any(key in type(one).model_fields for one in of_systems)}


def reject_untrusted_judges(run: RunDir, plan: EvaluationPlan, said: Collection[str]) -> None:
    """ConfigError if the run's config has other judges or parameters than the defaults for an evaluator of the
    plan, and the dotted keys in `said` (from the command line) do not set them.
    """
    config = run.manifest().config
    for role in _ROLES:
        own = _below(config, "models", role.role)
        unsaid = _unlike(own, role().model_dump(mode="json"), f"models.{role.role}.")
        if plan.needs(role.role) and unsaid and f"models.{role.role}.provider" not in said:
            default = f"--set models.{role.role}.provider={role().provider}"
            provider = {f"models.{role.role}.provider": own.get("provider", role().provider)}
            raise _unnamed(run, f"a {role.role}", provider | unsaid, default)
    for planned in plan.evaluators:
        key = f"per_evaluator.{planned.spec.name}."
        params = planned.spec.params().model_dump(mode="json")
        unsaid = _unlike(_below(config, "per_evaluator", planned.spec.name), params, key)
        if unsaid and not any(one.startswith(key) or f"{one}." == key for one in said):
            first = next(iter(unsaid))
            default = " ".join(["--set", *_words({first: params.get(first.removeprefix(key))})])
            raise _unnamed(run, f"parameters of {planned.spec.name}", unsaid, default)


def reject_untrusted_system(live: "LiveRun") -> None:
    """ConfigError if opening it would use a server, variable, code or file that the run names."""
    named: dict[str, Any] = {}
    run, configuration = live.run, live.configuration
    if ":" in configuration.spec.name:
        named["systems"] = [configuration.spec.name]
    for role, model in configuration.models_in("answer").items():
        own = _below(run.manifest().config, "models", role)
        settings = {key: own.get(key) for key in ("base_url", "api_key_env", "options") if own.get(key)}
        if _is_place(model.model or ""):
            settings["model"] = model.model
        named |= {f"models.{role}.{key}": value for key, value in settings.items()}
    for half, params in (("index", configuration.index_params), ("answer", configuration.answer_params)):
        unlike = _unlike(params.model_dump(mode="json"), type(params)().model_dump(mode="json"), f"{half}.")
        named |= {key: value for key, value in unlike.items() if isinstance(value, str) and _is_place(value)}
    if named:
        words = " ".join(_words(named))
        raise ConfigError(
            f"{run.run_id} names servers, code or files, which are not used without your consent ({words})",
            _TRUST,
        )


def judge_settings(run: RunDir) -> tuple[str, ...]:
    """The judges and evaluator parameters in the run's config, as `--set` values."""
    config = run.manifest().config
    trees = {f"models.{role.role}": _below(config, "models", role.role) for role in _ROLES}
    trees["per_evaluator"] = _below(config, "per_evaluator")
    said = {f"{prefix}.{key}": value for prefix, tree in trees.items() for key, value in flatten(tree).items()}
    return tuple(f"{key}={json.dumps(value)}" for key, value in said.items())


def reject_untrusted_prices(runs: Iterable[RunDir]) -> None:
    """Raise ConfigError if the config of a run names a price table."""
    for run in runs:
        if named := run.manifest().config.get("prices"):
            raise ConfigError(
                f"the config of {run.run_id} names its own price table, which is read only if you name it",
                f"add --prices {shlex.quote(str(named))}, or --prices configs/prices.yaml for the shipped one",
            )


def _unnamed(run: RunDir, what: str, unsaid: Mapping[str, Any], default: str) -> ConfigError:
    words = " ".join(f"--set {shlex.quote(word)}" for word in _words(unsaid))
    return ConfigError(
        f"the config of {run.run_id} names {what} of its own, which is not used without your consent",
        f"add --config FILE with yours, or the run's values ({words}), or the default ({default})",
    )


def _words(settings: Mapping[str, Any]) -> list[str]:
    """Words for `--set`. Imported here because only an error needs the report package."""
    from harness.report.tables.runs import setting_words

    return setting_words(settings)


def _is_place(value: str) -> bool:
    return any(char in value for char in "/\\:~")


def _unlike(own: Mapping[str, Any], default: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Dotted key -> value, for the values that differ from the default."""
    kept = flatten(default)
    return {f"{prefix}{key}": value for key, value in flatten(own).items() if kept.get(key) != value}


def _below(tree: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """The mapping at these keys, or an empty one: the config of a run is unchecked."""
    found: Any = tree
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}
