"""The contract of systems, as it ships with the harness."""

from harness.testing import SystemContract


class TestStranger(SystemContract):
    name = "stranger"
