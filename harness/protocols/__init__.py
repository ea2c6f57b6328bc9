# ruff: noqa: F403 - every public name of these modules is part of the contract
"""The contracts of plug-ins: systems, data sets, evaluators, models and commands.

To add a system, write a package that exports a `SystemSpec` and register it under the entry-point group
`rag_harness.systems`. Data sets (`rag_harness.datasets`) and evaluators (`rag_harness.evaluators`) work the same
way. All names can be imported from here.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.protocols.commands import *
    from harness.protocols.datasets import *
    from harness.protocols.evaluators import *
    from harness.protocols.models import *
    from harness.protocols.parameters import *
    from harness.protocols.systems import *

_MODULES = ("commands", "datasets", "evaluators", "models", "parameters", "systems")


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: pydantic takes longer to import than `rag-harness --help` may take."""
    for module in () if name.startswith("_") else _MODULES:
        found = vars(import_module(f"{__name__}.{module}"))
        if name in found:
            globals()[name] = found[name]
            return found[name]
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
