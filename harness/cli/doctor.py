"""`rag-harness doctor`: checks the installation and says how to fix each problem."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata, version
from pathlib import Path
from typing import Literal, Self

from packaging.requirements import Requirement
from rich.text import Text

from harness.cli.console import open_console
from harness.config import GeneratorConfig
from harness.core.errors import DISTRIBUTION, EXIT_DONE, EXIT_USER, HarnessError, MissingDependency, install
from harness.core.proxies import connect_once, proxy_of, trusted_certificates, use_network_settings
from harness.models.huggingface_hub_files import MINILM_ONNX, MINILM_TOKENIZER, QWEN_CODER
from harness.models.providers import PROVIDERS, ProviderSpec, check_reachable
from harness.models.weights import cache_dir, cached_path
from harness.registry import SYSTEMS

State = Literal["ok", "missing", "optional"]


@dataclass(frozen=True)
class Finding:
    what: str
    state: State
    detail: str
    fix: str = ""

    @classmethod
    def of(cls, what: str, error: HarnessError, state: State = "missing") -> Self:
        return cls(what, state, error.what, error.fix)


def print_checkup(results: Path) -> int:
    """Run and print all checks. Returns exit code 2 if something that `make bench` needs is missing, else 0."""
    use_network_settings()
    python = Finding("Python", "ok", sys.version.split()[0])
    local = [python, *_packages(), *_systems(), *_weights(), *_data(), *_folders(results)]
    findings = [*local, *_network(), *_servers()]
    console = open_console()
    for finding in findings:
        colour = {"ok": "green", "missing": "red", "optional": "yellow"}[finding.state]
        fix = f" -> {finding.fix}" if finding.fix else ""
        console.print(
            Text.assemble((f"{finding.state:<9}", colour), f"{finding.what}: {finding.detail}{fix}"),
            soft_wrap=True,
        )
    missing, optional = (
        ", ".join(one.what for one in findings if one.state == state) for state in ("missing", "optional")
    )
    needed = f"needed, but not ready: {missing}" if missing else "everything that `make bench` needs is ready"
    console.print(Text(f"{needed}; optional: {optional or 'nothing else'}", "bold"), soft_wrap=True)
    return EXIT_USER if missing else EXIT_DONE


def _packages() -> Iterator[Finding]:
    for extra, wanted in listed_extras().items():
        if lacking := [said for one in wanted if (said := _lacking(one))]:
            state: State = "missing" if extra == "bench" else "optional"
            yield Finding(f"extra {extra}", state, ", ".join(lacking), install(extra))
        else:
            yield Finding(f"extra {extra}", "ok", ", ".join(one.name for one in wanted))


def _systems() -> Iterator[Finding]:
    for name in SYSTEMS.names():
        try:
            spec = SYSTEMS.load(name)
            if spec.preflight:
                spec.preflight(spec.index_params(), spec.answer_params())
                yield Finding(f"system {name}", "ok", "requirements are met")
        except MissingDependency as error:
            # What `make bench` needs is found missing among the extras.
            yield Finding.of(f"system {name}", error, "optional")
        except HarnessError as error:
            yield Finding.of(f"system {name}", error)


def listed_extras() -> dict[str, list[Requirement]]:
    """Requirements by extra, without developer extras and extras that only combine others."""
    said = metadata(DISTRIBUTION)
    wanted = [Requirement(line) for line in said.get_all("Requires-Dist") or ()]
    extras = {
        str(extra): [one for one in wanted if one.marker and one.marker.evaluate({"extra": str(extra)})]
        for extra in said.get_all("Provides-Extra") or ()
        if extra not in {"build", "dev", "testing"}
    }
    return {extra: asked for extra, asked in extras.items() if all(one.name != DISTRIBUTION for one in asked)}


def _lacking(wanted: Requirement) -> str:
    """A description of the problem with a package; empty if a suitable version is installed."""
    try:
        found = version(wanted.name)
    except PackageNotFoundError:
        return f"no {wanted.name}"
    return "" if wanted.specifier.contains(found, prereleases=True) else f"{wanted.name} {found}"


def _weights() -> Iterator[Finding]:
    for weights in (MINILM_ONNX, MINILM_TOKENIZER, *QWEN_CODER.values()):
        try:
            path = cached_path(weights)
        except HarnessError as error:
            yield Finding.of(weights.name, error)
            continue
        size = f"{weights.size_bytes / 1e6:,.0f} MB"
        if path:
            yield Finding(weights.name, "ok", f"{path} ({size})")
        else:
            fix = "downloaded when a run first needs it"
            yield Finding(weights.name, "optional", f"not downloaded ({size})", fix)


def _data() -> Iterator[Finding]:
    named = os.environ.get("RAG_HARNESS_DATA")
    folder = Path(named or "data")
    if folder.is_dir():
        names = sorted(path.name for path in folder.iterdir() if path.is_dir())
        yield Finding("data directory", "ok", f"{folder}: {', '.join(names) or 'empty'}")
    elif named:
        yield Finding("data directory", "missing", f"no folder {folder}", "correct RAG_HARNESS_DATA")
    else:
        fix = "set RAG_HARNESS_DATA, or install the extra hub to download data"
        yield Finding("data directory", "optional", f"no folder {folder}", fix)


def _folders(results: Path) -> Iterator[Finding]:
    for what, folder in (("results folder", results), ("cache folder", cache_dir())):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            yield Finding(what, "missing", f"{folder}: {error.strerror}", "make it writable or choose another")
            continue
        free = shutil.disk_usage(folder).free
        fix = "" if free > 2e9 else "free some space: models and indexes take gigabytes"
        yield Finding(what, "missing" if fix else "ok", f"{folder} ({free / 1e9:,.0f} GB free)", fix)


def _network() -> Iterator[Finding]:
    """The proxies and certificates that the environment names."""
    for scheme in ("http", "https"):
        url = f"{scheme}://"
        try:
            if proxy := proxy_of(url):
                connect_once(url, 5.0)
        except HarnessError as error:
            yield Finding.of(f"proxy for {scheme}", error)
        else:
            detail = f"{proxy}, not for {os.environ.get('NO_PROXY')}" if proxy else "none"
            yield Finding(f"proxy for {scheme}", "ok", detail)
    named = next((name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name)), None)
    try:
        trusted_certificates()
    except HarnessError as error:
        yield Finding.of("certificates", error)
    else:
        yield Finding("certificates", "ok", f"{os.environ[named]} ({named})" if named else "those of the system")


def _servers() -> Iterator[Finding]:
    specs, refusals = PROVIDERS.load_all()
    yield from (Finding.of("provider", error) for error in refusals)
    for spec in specs:
        config = _with_defaults(spec)
        if config is None or config.is_none:
            continue
        where = f" at {config.base_url}" if config.base_url else ""
        try:
            check_reachable(config)
            proxy = proxy_of(config.base_url) if config.base_url else None
        except HarnessError as error:
            yield Finding.of(f"provider {spec.name}", error, "optional")
        else:
            yield Finding(f"provider {spec.name}", "ok", f"reachable{where}{f' through {proxy}' if proxy else ''}")


def _with_defaults(spec: ProviderSpec) -> GeneratorConfig | None:
    """The default config of a provider; None if it has none (for example it needs a URL) or cannot generate."""
    if "generator" not in spec.roles:
        return None
    for model in (None, "any"):
        with suppress(HarnessError):
            resolved: GeneratorConfig = spec.resolve(GeneratorConfig(provider=spec.name, model=model))
            return resolved
    return None
