"""The parameters of a run over a user's pipeline."""

from datetime import date
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, model_validator

from harness.protocols import KeyVariable, Params, Role
from systems.pipelines.templates import check_headers, check_path, check_request, check_url_parameters, variables

Lends = tuple[Role, ...]
Version = Annotated[
    str, BeforeValidator(lambda value: str(value) if isinstance(value, int | float | date) else value)
]
"""A word; YAML reads 2 and 2024-05-01 as something else."""
JmesPath = Annotated[str, AfterValidator(check_path)]
"""A path into a reply, in the language JMESPath: `metadata.usage.prompt_tokens`, `choices[0].message.content`."""
_NOT_GIVEN = Field(None, exclude_if=lambda path: path is None)


class ContextPaths(Params):
    """Where a reply has its contexts. The paths of `text`, `document` and `score` begin at an item."""

    items: JmesPath
    """The list of contexts, best first. If it has texts alone, nothing else is needed."""
    text: JmesPath | None = _NOT_GIVEN
    """The text of an item, or its list of texts, each a context. None: the item itself, or not stated."""
    document: JmesPath | None = _NOT_GIVEN
    """The id, title or file name of the document that the text is from."""
    score: JmesPath | None = _NOT_GIVEN
    """The score of the text."""


class UsagePaths(Params):
    """Where a reply has the tokens of its models. What is not stated is unknown."""

    input_tokens: JmesPath | None = _NOT_GIVEN
    output_tokens: JmesPath | None = _NOT_GIVEN
    cached_tokens: JmesPath | None = _NOT_GIVEN
    calls: JmesPath | None = _NOT_GIVEN


class ReplyPaths(Params):
    """Where a reply has what is measured."""

    answer: JmesPath
    """The text of the answer."""
    contexts: ContextPaths | None = _NOT_GIVEN
    """None: the service does not state them. A path alone means a list of texts."""
    usage: UsagePaths | None = _NOT_GIVEN

    @model_validator(mode="before")
    @classmethod
    def _path_alone(cls, given: Any) -> Any:
        if isinstance(given, dict) and isinstance(given.get("contexts"), str):
            return {**given, "contexts": {"items": given["contexts"]}}
        return given


class ServiceParams(Params):
    """Of a pipeline behind a URL."""

    request: Annotated[dict[str, JsonValue], AfterValidator(check_request)] = Field({})
    """The body that the service takes, if it is not ours. `{query}`, `{query_id}` and `{answer_style}` in its
    texts stand for these values, `${NAME}` for an environment variable with a key."""
    reply: ReplyPaths | None = None
    """Where the service's reply has answer, contexts and usage; None: as in docs/your-pipeline.md."""
    headers: Annotated[dict[str, Version], AfterValidator(check_headers)] = Field({})
    """Further headers, such as `{api-key: "${NAME}"}`; keys only as environment variables."""
    url_parameters: Annotated[dict[str, Version], AfterValidator(check_url_parameters)] = Field({})
    """Sent behind a question mark in the URL, such as `{api-version: 2024-10-21}`; never a key."""

    version: Version = Field("", max_length=60)
    """Your name for the current state of the service, such as 2024-05: a part of the run id, because changes
    cannot be seen from here."""
    api_key_env: KeyVariable | None = None
    """The environment variable whose value is sent as `Authorization: Bearer`."""
    lends: Lends = ()
    """Models of the config that the service is handed with each question, to be metered: generator, embedder."""

    @property
    def key_variables(self) -> list[str]:
        """The environment variables that hold its keys."""
        own = [self.api_key_env] if self.api_key_env else []
        return list(dict.fromkeys([*own, *variables([self.headers, self.request])]))

    @model_validator(mode="after")
    def _one_body(self) -> Self:
        if self.request and self.lends:
            raise ValueError("lends is for a service that takes our request: leave out either lends or request")
        if self.api_key_env and any(name.lower() == "authorization" for name in self.headers):
            raise ValueError("api_key_env and the header Authorization are the same: leave out either")
        return self


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
    doc_id: str = Field("doc_id", min_length=1)
    """The field of a retrieved document's metadata that names the document of the corpus."""
    input: Literal["auto", "text", "input", "question", "query"] = "auto"
    """How a chain takes the question: as a text, or as the value of that key; auto: from its schema."""
