"""The executor `ray`: runs configurations, shards of their queries and evaluators on a Ray cluster."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.config import RunnerConfig
from harness.extensions.ray.cluster import RayCluster, ray_cluster
from harness.extensions.ray.spread_execution import run_spread
from harness.extensions.ray.spread_scoring import SpreadScoring
from harness.runner.budget_tracker import BudgetTracker
from harness.runner.evaluating.plan import EvaluationPlan
from harness.runner.evaluating.scoring import RemoteScoring
from harness.runner.executing.execute import CellResult
from harness.runner.executor import CellRunOptions, ExecutorSpec
from harness.runner.plan import Cell
from harness.runner.progress import Reporter


@dataclass(frozen=True)
class RayExecutor:
    """See `harness.runner.executor.Executor`."""

    cluster: RayCluster
    n_workers: int
    results: Path

    def run_cells(
        self, cells: Sequence[Cell], options: CellRunOptions, reporter: Reporter, spending: BudgetTracker
    ) -> list[CellResult]:
        """Index and answer the cells concurrently on the cluster."""
        start, ends_within_s = self.cluster.start, self.cluster.ends_within_s
        return run_spread(cells, options, start, self.n_workers, reporter, spending, ends_within_s=ends_within_s)

    def scoring(self, plan: EvaluationPlan, warn: Callable[[str], None]) -> RemoteScoring:
        """Scores with the evaluators that use a model or weights."""
        return SpreadScoring(plan, self.results, self.cluster.start, self.n_workers, warn)


@contextmanager
def join_cluster(settings: RunnerConfig, results: Path, reporter: Reporter) -> Iterator[RayExecutor]:
    """Connect to the cluster at `ray_address`; see `ExecutorSpec.join`."""
    with ray_cluster(settings.ray_address, results, reporter.say) as cluster:
        yield RayExecutor(cluster, cluster.n_workers_of(settings.workers), results)


SPEC = ExecutorSpec("ray", join_cluster, needs_own_process=True)
