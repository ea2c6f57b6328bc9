"""`rag-harness doctor`: what is installed, reachable and missing, and the fix for each."""

import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.markup import escape

from harness.cli.consoles import open_console
from harness.config import GeneratorConfig, ModelConfig
from harness.errors import EXIT_DONE, EXIT_USER, HarnessError
from harness.models.catalogue import MINILM_ONNX, MINILM_TOKENIZER, QWEN_CODER
from harness.models.preflight import check_reachable
from harness.models.providers import HTTP_PROVIDERS, resolve_generator
from harness.models.weights import cache_dir, cached_path
from harness.registry import load_system, system_names

_EXTRAS = {
    "rag": ("chromadb", "onnxruntime", "openai", "tokenizers"),
    "local": ("xllamacpp",),
    "report": ("matplotlib", "scipy"),
    "graph": ("ladybug", "neo4j"),
    "community": ("nano_graphrag", "graspologic_native", "nano_vectordb", "networkx"),
    "nlp": ("spacy",),
    "langchain": ("langchain_experimental", "langchain_core"),
    "retrieval": ("ir_measures",),
    "compare": ("scipy", "statsmodels"),
    "kg": ("igraph", "networkx"),
    "ragas": ("ragas", "langchain_openai"),
    "bertscore": ("torch", "bert_score"),
    "hub": ("datasets", "huggingface_hub"),
    "st": ("torch", "sentence_transformers"),
}
_FIXES = {
    "st": "scripts/setup --torch",
    "bertscore": "scripts/setup --torch",
    # Two of its dependencies, which nothing here uses, cost 550 MB.
    "community": "pip install 'rag-harness[community]' && pip install --no-deps nano-graphrag==0.0.8.2",
}
_NEEDED = ("rag", "local", "report", "graph", "community", "retrieval")
_ROOM_BYTES = 2_000_000_000


@dataclass(frozen=True)
class Finding:
    """One thing looked at."""

    what: str
    state: Literal["ok", "missing", "optional"]
    detail: str
    fix: str = ""


def print_checkup(results: Path) -> int:
    """Print every finding; 2 if something that `make bench` needs is missing."""
    findings = [*_python(), *_packages(), *_systems(), *_weights(), *_data(), *_folders(results), *_servers()]
    console = open_console()
    for finding in findings:
        colour = {"ok": "green", "missing": "red", "optional": "yellow"}[finding.state]
        fix = f" -> {finding.fix}" if finding.fix else ""
        console.print(
            f"[{colour}]{finding.state:<9}[/]" + escape(f"{finding.what}: {finding.detail}{fix}"), soft_wrap=True
        )
    return EXIT_USER if any(finding.state == "missing" for finding in findings) else EXIT_DONE


def _python() -> Iterator[Finding]:
    good = sys.version_info >= (3, 11)
    yield Finding("Python", "ok" if good else "missing", sys.version.split()[0], "" if good else "install 3.11+")


def _packages() -> Iterator[Finding]:
    for extra, modules in _EXTRAS.items():
        missing = [name for name in modules if importlib.util.find_spec(name) is None]
        if not missing:
            yield Finding(f"extra {extra}", "ok", ", ".join(modules))
            continue
        fix = _FIXES.get(extra, f"pip install 'rag-harness[{extra}]'")
        yield Finding(f"extra {extra}", _need(extra in _NEEDED), f"no {', '.join(missing)}", fix)


def _systems() -> Iterator[Finding]:
    """What each system needs beyond packages and models, with its default parameters."""
    for name in system_names():
        try:
            spec = load_system(name)
            if spec.preflight:
                spec.preflight(spec.index_params(), spec.answer_params())
                yield Finding(f"system {name}", "ok", "what it needs is there")
        except HarnessError as error:
            yield Finding(f"system {name}", "missing", error.what, error.fix)


def _weights() -> Iterator[Finding]:
    for weights in (MINILM_ONNX, MINILM_TOKENIZER, *QWEN_CODER.values()):
        try:
            path = cached_path(weights)
        except HarnessError as error:
            yield Finding(weights.name, "missing", error.what, error.fix)
            continue
        size = f"{weights.size_bytes / 1e6:,.0f} MB"
        if path:
            yield Finding(weights.name, "ok", f"{path} ({size})")
        else:
            yield Finding(weights.name, "optional", f"not here ({size})", "downloaded when a run first needs it")


def _data() -> Iterator[Finding]:
    named = os.environ.get("RAG_HARNESS_DATA")
    folder = Path(named or "data")
    if folder.is_dir():
        yield Finding("data directory", "ok", f"{folder}: {', '.join(sorted(_subfolders(folder))) or 'empty'}")
    else:
        fix = "correct RAG_HARNESS_DATA" if named else "set RAG_HARNESS_DATA, or let the hub provide (extra hub)"
        yield Finding("data directory", _need(bool(named)), f"no folder {folder}", fix)


def _subfolders(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.is_dir()]


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
        fix = "" if free > _ROOM_BYTES else "free some space: models and indexes take gigabytes"
        yield Finding(what, _need(True) if fix else "ok", f"{folder} ({free / 1e9:,.0f} GB free)", fix)


def _servers() -> Iterator[Finding]:
    for name in ("ollama", "vllm"):
        config = resolve_generator(GeneratorConfig(provider=name, model="any"))
        yield _server(name, config)
    key = HTTP_PROVIDERS["openai"].api_key_env or ""
    if os.environ.get(key):
        yield Finding("openai key", "ok", f"{key} is set (used only where a config says provider: openai)")
    else:
        yield Finding("openai key", "optional", f"{key} is not set", f"export {key}=... to use provider openai")


def _server(name: str, config: ModelConfig) -> Finding:
    try:
        check_reachable(config)
    except HarnessError as error:
        return Finding(name, "optional", f"nothing at {config.base_url}", error.fix)
    return Finding(name, "ok", str(config.base_url))


def _need(needed: bool) -> Literal["missing", "optional"]:
    return "missing" if needed else "optional"
