"""The contract suite for systems."""

from harness.testing.systems.answers import SystemAnswers, SystemPresentation
from harness.testing.systems.file_checks import SystemFolders, SystemKills
from harness.testing.systems.odd import SystemOddInputs
from harness.testing.systems.runs import SystemExpectations, SystemRuns


class SystemContract(
    SystemPresentation, SystemAnswers, SystemFolders, SystemKills, SystemOddInputs, SystemRuns, SystemExpectations
):
    """The contract of every system. Subclass it with a name that begins with `Test`, and set `name`.

    ```python
    class TestBM25(SystemContract):
        name = "bm25"
        answer_params = {"n_documents": 3}
    ```
    """
