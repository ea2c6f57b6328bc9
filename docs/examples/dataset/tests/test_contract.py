"""What the harness promises of every data set, held against this one."""

from harness.testing import DatasetContract


class TestBakery(DatasetContract):
    """Each test of the suite is inherited."""

    name = "bakery"
