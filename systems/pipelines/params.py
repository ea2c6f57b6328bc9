"""The parameters of a run over a user's pipeline."""

from datetime import date
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from harness.protocols import KeyVariable, Params, Role

Lends = tuple[Role, ...]
Version = Annotated[
    str, BeforeValidator(lambda value: str(value) if isinstance(value, int | float | date) else value)
]
"""A word; YAML reads 2 and 2024-05-01 as something else."""


class NoIndexParams(Params):
    """A service has its own index."""


class ServiceParams(Params):
    """Of a pipeline behind a URL."""

    version: Version = Field("", max_length=60)
    """Your name for the current state of the service, such as 2024-05: a part of the run id, because changes
    cannot be seen from here."""
    api_key_env: KeyVariable | None = None
    """The environment variable whose value is sent as `Authorization: Bearer`."""
    lends: Lends = ()
    """Models of the config that the service is handed with each question, to be metered: generator, embedder."""


class BuildParams(Params):
    """Of a pipeline in Python, while it builds its index."""

    lends: Lends = ("embedder",)
    """Models of the config that the service may use meanwhile: generator, embedder."""


class CodeParams(Params):
    """Of a pipeline in Python, while it answers."""

    version: Version = Field("", max_length=60)
    """What you call it as it is now, where more changes than the file of its module: a part of the run id."""
    lends: Lends = ("generator", "embedder")
    """Models of the config that the pipeline may use, metered; []: it uses its own, whose usage is not counted."""


class ChainParams(CodeParams):
    """Of a chain or an engine."""

    doc_id: str = Field("doc_id", min_length=1)
    """The field of a retrieved document's metadata that names the document of the corpus."""
    input: Literal["auto", "text", "input", "question", "query"] = "auto"
    """How a chain takes the question: as a text, or as the value of that key; auto: from its schema."""
