"""Errors of this package, named by who must act.

`HierarchyError`: our own code used the tree in a way the paper's rules forbid; a bug of ours.
`SchedulerError`: a scheduler was named or parameterised wrongly, mostly by a policy.
"""

from __future__ import annotations


class HatsError(Exception):
    """Base of this package's errors."""


class HierarchyError(HatsError):
    """A rule of the transmission hierarchy was broken (HATS, section 3.2.1 and 3.2.2)."""


class SchedulerError(HatsError):
    """No scheduler of that name, a parameter it does not take, or one used twice."""
