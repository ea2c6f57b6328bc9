"""A pipeline behind a URL: `python my_service.py 8000`, then `--system http://127.0.0.1:8000/ask`.

A stand-in for a service of yours: it knows three sentences, and calls the model it is lent, if it is lent one.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.request import Request, urlopen

KNOWN = {"tea": "Tea is served at four.", "bread": "Bread is baked at five.", "post": "The post comes at nine."}


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """The reply to one question."""
    question, models = asked["question"], asked.get("models")
    found = [text for word, text in KNOWN.items() if word in question.lower()] or list(KNOWN.values())
    if models is None:  # Its own model, which here is a rule, and its own account of it.
        return {
            "answer": found[0],
            "contexts": found,
            "usage": {"calls": 1, "input_tokens": 40, "output_tokens": 6},
        }
    body = {"model": models["model"], "messages": [{"role": "user", "content": f"{found}\n{question}"}]}
    headers = {"content-type": "application/json", "authorization": f"Bearer {models['api_key']}"}
    request = Request(f"{models['base_url']}/chat/completions", json.dumps(body).encode(), headers)  # noqa: S310
    with urlopen(request) as reply:  # noqa: S310
        return {"answer": json.load(reply)["choices"][0]["message"]["content"], "contexts": found}


class Handler(BaseHTTPRequestHandler):
    """POST a question, get an answer."""

    def do_POST(self) -> None:
        """JSON in, JSON out."""
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        reply = json.dumps(answer(asked)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
