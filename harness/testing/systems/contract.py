"""All clauses."""

from harness.testing.systems.answers import SystemAnswers, SystemPresentation
from harness.testing.systems.file_checks import SystemFolders, SystemKills
from harness.testing.systems.odd import SystemOddInputs
from harness.testing.systems.runs import SystemExpectations, SystemRuns


class SystemContract(
    SystemPresentation, SystemAnswers, SystemFolders, SystemKills, SystemOddInputs, SystemRuns, SystemExpectations
):
    """What every system keeps: inherit from it, under a name that begins with `Test`, and say which.

    ```python
    class TestBM25(SystemContract):
        name = "bm25"
        answer_params = {"n_documents": 3}
    ```
    """
