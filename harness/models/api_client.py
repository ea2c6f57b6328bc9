"""A client of OpenAI-compatible servers: one POST, and errors with the names of openai's own client. Loading that
client takes a process more than a second, and the transport below does the rest: retries, limits, the journal.
"""

import json
import os
from collections.abc import Mapping
from typing import Any

import httpx2


class APIError(Exception):
    """A call failed, of any of these."""


class APIConnectionError(APIError):
    """No reply came back."""


class APITimeoutError(APIConnectionError):
    """No reply came back in time."""


class APIStatusError(APIError):
    """The server refused the request."""

    def __init__(self, response: httpx2.Response) -> None:
        text = response.text.strip()
        try:
            message = f"Error code: {response.status_code} - {json.loads(text)}"
        except ValueError:
            message = text or f"Error code: {response.status_code}"
        super().__init__(message)
        self.response, self.status_code = response, response.status_code


class BadRequestError(APIStatusError): ...


class AuthenticationError(APIStatusError): ...


class PermissionDeniedError(APIStatusError): ...


class NotFoundError(APIStatusError): ...


class ConflictError(APIStatusError): ...


class UnprocessableEntityError(APIStatusError): ...


class RateLimitError(APIStatusError): ...


class InternalServerError(APIStatusError): ...


_OF_STATUS: Mapping[int, type[APIStatusError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    422: UnprocessableEntityError,
    429: RateLimitError,
}
_HEADERS_OF_VARIABLES = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}


class APIClient:
    """Posts JSON to a server through `transport`."""

    def __init__(self, url: str, key: str, timeout_s: float, transport: httpx2.AsyncBaseTransport) -> None:
        self._headers = {"accept": "application/json", **({"authorization": f"Bearer {key}"} if key else {})}
        for header, variable in _HEADERS_OF_VARIABLES.items():
            if value := os.environ.get(variable):
                self._headers[header] = value
        self._http = httpx2.AsyncClient(base_url=url, transport=transport, timeout=timeout_s)

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON of the reply. Errors of our transport that are not of the connection are raised as they are."""
        try:
            response = await self._http.post(path, json=body, headers=self._headers)
        except httpx2.TimeoutException as error:
            raise APITimeoutError("Request timed out.") from error
        except httpx2.TransportError as error:
            raise APIConnectionError("Connection error.") from error
        if response.is_success:
            return response.json()
        status = response.status_code
        raise _OF_STATUS.get(status, InternalServerError if status >= 500 else APIStatusError)(response)

    async def close(self) -> None:
        """Close its connections."""
        await self._http.aclose()

    async def __aenter__(self) -> "APIClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
