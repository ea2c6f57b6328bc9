"""What the harness promises of every system, held against this one."""

from harness.testing import SystemContract


class TestBM25(SystemContract):
    """Each test of the suite is inherited."""

    name = "bm25"
