"""Looking again while a sample grows: evidence that may be weighed after every query.

A p value is for one look. Of wins against losses, the likelihood under a mixture of all shares of wins, by
Jeffreys' Beta(1/2, 1/2), over that under a fair coin is an e-value: were there no difference, it would ever
rise above 1 / a with a chance of at most a (Ville 1939; Robbins 1970; Howard et al. 2021). So its reciprocal
may be looked at as often as one likes, and the sample grown until it is small.
"""

from __future__ import annotations

from math import exp, lgamma, log


def anytime_p(wins: int, losses: int) -> float:
    """An upper bound of the chance that wins and losses would at any time have looked as uneven, were each as
    likely.

    Of queries that only one, or only the other, of two systems got right. Two-sided, at most 1.
    """
    return min(1.0, exp(-log_evidence(wins, losses)))


def log_evidence(wins: int, losses: int) -> float:
    """The natural logarithm of the e-value against a fair coin; 0 for no query that tells the two apart."""
    n = wins + losses
    mixed = lgamma(wins + 0.5) + lgamma(losses + 0.5) - lgamma(n + 1.0) - 2 * lgamma(0.5)
    return mixed + n * log(2.0)
