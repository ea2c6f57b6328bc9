"""The contract of data sets, for every one that is registered and each of its subsets."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.datasets import files
from harness.registry import DATASETS
from harness.testing import DatasetContract

pytestmark = pytest.mark.slow


class RealData(DatasetContract):
    """One whose files lie beside the repository, or nowhere."""

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def its_files(cls, data_folder: Path) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(files.ENV, str(data_folder))
            yield


class TestDemo(DatasetContract):
    name = "demo"


globals().update(
    {
        f"Test_{name}_{subset}": type(f"Test_{name}_{subset}", (RealData,), {"name": name, "subset": subset})
        for name in DATASETS.names()
        if name != TestDemo.name
        for subset in DATASETS.load(name).subsets
    }
)
