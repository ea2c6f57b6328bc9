import subprocess
import sys

import pytest

from harness import testing


def test_the_package_itself_needs_no_pytest() -> None:
    script = "import sys, harness.testing.systems.process as _; print('pytest' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("name", testing.__all__)
def test_every_contract_has_tests_and_is_no_test_itself(name: str) -> None:
    contract = getattr(testing, name)
    assert contract.__name__ == name
    assert not name.startswith("Test")
    assert [test for test in dir(contract) if test.startswith("test_")]


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="ProviderContract"):
        testing.ProviderContract  # noqa: B018


def test_a_contract_that_names_no_system_says_so() -> None:
    class TestNothing(testing.SystemContract):
        pass

    with pytest.raises(AssertionError, match="TestNothing must name the system to test: name = "):
        TestNothing.chosen()
