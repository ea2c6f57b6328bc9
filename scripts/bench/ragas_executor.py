"""The same calls by ragas' executor, in its own process, as a user of that library would run them.

Each job is one query: a number of consecutive calls with `chat.completions.create` of the openai client. It warms
up with one query, then answers the others and prints a line of JSON: seconds, CPU seconds, calls.

Examples:
  .venv/bin/python scripts/bench/ragas_executor.py http://127.0.0.1:8000/v1 --queries 100 --calls 8 --at-once 64
"""

import json
import os
import time
from typing import Any

import benching  # noqa: F401 - makes `common` importable
from common import command_line
from many_calls import messages, question


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("url", help="URL of a server with OpenAI's protocol")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--calls", type=int, default=8, help="of each query")
    parser.add_argument("--at-once", type=int, default=64, help="queries under way")
    asked = parser.parse_args()
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"
    from ragas.executor import Executor
    from ragas.run_config import RunConfig

    def executor() -> Any:
        return Executor(
            show_progress=False, raise_exceptions=True, run_config=RunConfig(max_workers=asked.at_once)
        )

    # The client loads modules at its first call. The executor has a new event loop each time.
    (warm := executor()).submit(Caller(asked.url, asked.calls).answer, question(asked.queries))
    warm.results()
    jobs, answer = executor(), Caller(asked.url, asked.calls).answer
    for number in range(asked.queries):
        jobs.submit(answer, question(number))
    began, cpu = time.monotonic(), time.process_time()
    answers = jobs.results()
    wall_s, cpu_s = time.monotonic() - began, time.process_time() - cpu
    calls = asked.queries * asked.calls
    assert len(answers) == asked.queries  # noqa: S101 - of each job, or it raised
    print(json.dumps({"wall_s": wall_s, "cpu_s": cpu_s, "calls": calls}))


class Caller:
    """An openai client, opened on first use, within the executor's event loop."""

    def __init__(self, url: str, calls: int) -> None:
        self._url, self._calls = url, calls
        self._client: Any = None

    async def answer(self, query: str) -> str:
        """Make the consecutive calls of a query."""
        from openai import AsyncOpenAI

        self._client = self._client or AsyncOpenAI(api_key="none", base_url=self._url, max_retries=0)
        for step in range(self._calls):
            turns = [{"role": one.role, "content": one.content} for one in messages(query, step)]
            reply = await self._client.chat.completions.create(
                model="fake", messages=turns, max_tokens=256, temperature=0.0, seed=42
            )
        return str(reply.choices[0].message.content)


if __name__ == "__main__":
    main()
