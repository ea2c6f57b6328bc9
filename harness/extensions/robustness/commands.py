"""The command `robustness`."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.options import (
    JsonOption,
    PricesOption,
    QuietOption,
    ResultsOption,
    RunsArgument,
    SetOption,
    TrustOption,
    words,
)
from harness.protocols import CommandSpec


def robustness(
    runs: RunsArgument,
    perturb: Annotated[
        list[str] | None,
        typer.Option("--perturb", "-p", metavar="NAMES", help="Comma-separated names, or repeat the option."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Selects words and passages, e.g. --seed 1.")] = 0,
    share: Annotated[
        float, typer.Option("--typos", min=0.01, max=1.0, help="Share of the words with a typo, e.g. --typos 0.5.")
    ] = 0.25,
    language: Annotated[
        str, typer.Option("--language", help="Of a translation, e.g. --language French.")
    ] = "German",
    measure: Annotated[
        str | None, typer.Option("--measure", "-m", help="Metric to compare by; default: the one that ranks.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="Model of translations and paraphrases, e.g. -c my.yaml.")
    ] = None,
    settings: SetOption = None,
    trust: TrustOption = False,
    prices: PricesOption = None,
    results: ResultsOption = Path("results"),
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure how much worse runs get under perturbed queries and documents.

    Each config runs again over the perturbed data, and is compared with its run query by query. Reports show the
    result.

    Queries: typos, casing, paraphrase, distractor-clause (these by default), and by a model (models.generator of
    --config or --set) model-paraphrase, translation. Documents, with a new index each: near-duplicates,
    contradictions, outdated, injected, injected-judge.

    Examples:

      rag-harness robustness naive kg

      rag-harness robustness naive --perturb typos,near-duplicates,injected

      rag-harness robustness naive -p translation --language French --set models.generator.provider=openai
    """
    from functools import partial

    from harness.extensions.robustness.dataset import PERTURBATIONS, perturbation_named
    from harness.extensions.robustness.effects import robustness_of
    from harness.extensions.robustness.output import print_effects
    from harness.extensions.robustness.written_queries import written_queries
    from harness.store import find_runs

    cheap = [one.name for one in PERTURBATIONS.values() if one.changes == "queries" and not one.is_written]
    names = tuple(dict.fromkeys(perturbation_named(name).name for name in words(perturb or cheap)))
    texts = partial(
        written_queries,
        language=language,
        config_file=config,
        settings=settings or (),
        prices=prices,
        results=results,
        quiet=quiet,
    )
    found, notes = robustness_of(
        find_runs(results, runs),
        names,
        texts,
        seed=seed,
        share=share,
        measure=measure,
        prices=prices,
        trust=trust,
        quiet=quiet,
    )
    print_effects(found, notes, as_json=as_json)


ROBUSTNESS = CommandSpec("robustness", lambda _runtime: robustness, "understand")
