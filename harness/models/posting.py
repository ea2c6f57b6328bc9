"""The client under every model call: JSON there and back, in OpenAI's protocol, and a name for each refusal.

The openai package is a thousand modules, and loading them took every process of a run more than its queries.
"""

import os
from collections.abc import Mapping
from typing import Any, Self

import httpx2

from harness.models.transport import read_error

_OF_AN_ACCOUNT = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
"""Who has several tells them apart by these: header -> environment."""


class ModelCallError(Exception):
    """A call that failed for good, and its query with it. Its name stands in records: they are those of the openai
    package, so that runs of earlier versions and of this one count the same failures.
    """


class APIConnectionError(ModelCallError):
    """The connection broke."""


class APITimeoutError(APIConnectionError):
    """No whole reply within the time limit of a request."""


class APIStatusError(ModelCallError):
    """The server answered with an error."""


class BadRequestError(APIStatusError):
    """HTTP 400."""


class ConflictError(APIStatusError):
    """HTTP 409, also when it was tried again."""


class UnprocessableEntityError(APIStatusError):
    """HTTP 422."""


class InternalServerError(APIStatusError):
    """HTTP 5xx, also when it was tried again."""


_KINDS = {400: BadRequestError, 409: ConflictError, 422: UnprocessableEntityError}


class ModelClient:
    """One server behind a transport. Neither retries nor journals: that is the seam's, which is its transport."""

    def __init__(self, base_url: str, key: str, transport: httpx2.AsyncBaseTransport, timeout_s: float) -> None:
        of_account = {
            name: os.environ[variable] for name, variable in _OF_AN_ACCOUNT.items() if variable in os.environ
        }
        self._http = httpx2.AsyncClient(
            base_url=base_url,
            headers={"authorization": f"Bearer {key}", "user-agent": "rag-bench-harness", **of_account},
            transport=transport,
            timeout=timeout_s,
        )

    @property
    def headers(self) -> Mapping[str, str]:
        """What every request says of who asks."""
        return self._http.headers

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON of a reply, read as it is.

        Raises ModelCallError for what fails this call alone, json.JSONDecodeError where a reply is no JSON. What
        the seam raises comes out as itself.
        """
        try:
            response = await self._http.post(path, json=body)
        except httpx2.TimeoutException as error:
            raise APITimeoutError(_said(error)) from error
        except httpx2.TransportError as error:
            raise APIConnectionError(_said(error)) from error
        if response.is_success:
            return response.json()
        kind = (
            InternalServerError
            if response.status_code >= 500
            else _KINDS.get(response.status_code, APIStatusError)
        )
        raise kind(f"HTTP {response.status_code}: {read_error(response.content)[0]}")

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(": ")
