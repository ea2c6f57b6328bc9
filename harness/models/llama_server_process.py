"""llama.cpp's OpenAI-compatible server as a process: `python -m harness.models.llama_server_process`.

The first line of standard input is a `harness.models.llama_server.ServerSpec`. It serves until standard input
closes, so it never outlives its parent. Few imports: nothing can end it before it watches its input.
"""

import fcntl
import json
import os
import signal
import sys
import threading
from typing import Any

from harness.core.errors import need


def end_with_input(fd: int) -> None:
    """End this process when no one can write to the pipe `fd` any more."""
    # Loading weights blocks Python for many seconds. On Linux the signal of a closing pipe, whose default is to
    # end the process, works meanwhile; other systems wait for Python.
    if sys.platform == "linux":
        signal.signal(signal.SIGIO, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGIO})
        fcntl.fcntl(fd, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC)

    def wait() -> None:
        # Also if the pipe closed before.
        os.read(fd, 1)
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()


def main() -> None:
    """Serve with the settings in the first line."""
    line = sys.stdin.readline()
    if not line:
        return
    end_with_input(sys.stdin.fileno())
    server = _serve(json.loads(line))
    threading.Event().wait()
    del server


def _serve(spec: dict[str, Any]) -> object:
    need("provider-local", "xllamacpp")
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = spec["path"]
    params.model_alias = {spec["alias"]}
    params.hostnames = ["127.0.0.1"]
    params.port = spec["port"]
    # Every user of this machine, and every page in their browsers, can connect.
    params.api_keys = [spec["api_key"]]
    params.cors_origins = params.cors_methods = params.cors_headers = ""
    params.cors_origins_explicit = True
    params.cors_credentials = False
    params.endpoint_slots = params.endpoint_metrics = params.endpoint_props = False
    params.ui = False
    # llama.cpp divides the context among its slots.
    params.n_ctx = spec["context_tokens"] * spec["parallel"]
    params.n_parallel = spec["parallel"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = spec["threads"]
    # Its cache of old prompts would grow to gigabytes of RAM that are no part of an architecture; the slot's cache
    # of the common prefix stays on.
    params.cache_ram_mib = 0
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
