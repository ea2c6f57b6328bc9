"""All clauses."""

from harness.testing.systems.answers import Answers, Presentation
from harness.testing.systems.folders import Folders, Kills
from harness.testing.systems.odd import OddInputs
from harness.testing.systems.runs import Expectations, Runs


class SystemContract(Presentation, Answers, Folders, Kills, OddInputs, Runs, Expectations):
    """What every system keeps: inherit from it, under a name that begins with `Test`, and say which.

    ```python
    class TestBM25(SystemContract):
        name = "bm25"
        answer_params = {"n_documents": 3}
    ```
    """
