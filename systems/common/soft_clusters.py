"""Soft clusters of vectors, coarse and then fine, as in RAPTOR (Sarthi et al. 2024): a Gaussian mixture over
reduced vectors, with the number of components that minimises the Bayesian information criterion (BIC).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from harness.protocols import Vectors

DIMENSIONS = 10
"""Of reduced vectors; fewer than two more vectors are one cluster."""
_MOST_COMPONENTS = 50
_LEAST_SHARE = 0.1
"""A vector belongs to every component with more than this probability."""
_PATIENCE = 5
"""More components are tried until this many more do not improve the criterion."""
Numbers = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class SoftClusters:
    most_tokens: int
    """Maximum tokens of the members of a cluster with more than one."""
    seed: int

    def of(self, vectors: Vectors, tokens: Numbers) -> list[Numbers]:
        """The distinct clusters, as ascending numbers of vectors; each vector is in at least one."""
        from threadpoolctl import threadpool_limits

        found: dict[tuple[int, ...], Numbers] = {}
        # The matrices are small: more threads would only wait for each other.
        with warnings.catch_warnings(), threadpool_limits(1):
            # Equal vectors, and mixtures that do not converge: the criterion chooses among what there is.
            warnings.simplefilter("ignore")
            for coarse in self._components(vectors, np.arange(len(vectors))):
                for fine in self._components(vectors, coarse):
                    for part in self._within_limit(vectors, tokens, fine):
                        found.setdefault(tuple(part.tolist()), part)
        return list(found.values())

    def _components(self, vectors: Vectors, members: Numbers) -> list[Numbers]:
        if len(members) <= DIMENSIONS + 1:
            return [members]
        points = _reduced(vectors[members])
        shares = _mixture(points, self.seed).predict_proba(points)
        belongs = (shares > _LEAST_SHARE) | (shares == shares.max(axis=1, keepdims=True))
        return [members[column] for column in belongs.T if column.any()]

    def _within_limit(self, vectors: Vectors, tokens: Numbers, members: Numbers) -> Iterator[Numbers]:
        """The cluster, divided by k-means until its parts keep to the limit."""
        from sklearn.cluster import KMeans

        parts = min(math.ceil(tokens[members].sum() / self.most_tokens), len(members))
        if parts <= 1:
            yield members
            return
        labels = KMeans(parts, n_init=1, random_state=self.seed).fit_predict(vectors[members])
        groups = [members[labels == label] for label in np.unique(labels)]
        # Equal vectors cannot be told apart.
        for group in groups if len(groups) > 1 else np.array_split(members, 2):
            yield from self._within_limit(vectors, tokens, group)


def _reduced(vectors: Vectors) -> Any:
    from sklearn.decomposition import PCA

    dimensions = min(DIMENSIONS, vectors.shape[1])
    return PCA(dimensions, svd_solver="covariance_eigh").fit_transform(vectors.astype(np.float64))


def _mixture(points: Any, seed: int) -> Any:
    from sklearn.mixture import GaussianMixture

    best, lowest, tried_since = None, math.inf, 0
    for components in range(1, min(_MOST_COMPONENTS, len(points))):
        try:
            mixture = GaussianMixture(components, random_state=seed).fit(points)
        except ValueError:  # Too few distinct points for as many components.
            break
        criterion = mixture.bic(points)
        tried_since = 0 if criterion < lowest else tried_since + 1
        if criterion < lowest:
            best, lowest = mixture, criterion
        if tried_since == _PATIENCE:
            break
    return best
