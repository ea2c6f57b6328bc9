"""Runs that differ in one number: curves over it, and what is best under a budget."""

from harness.report.sweeps.figure import draw_sweeps
from harness.report.sweeps.find_sweeps import Sweep, SweepLine, find_sweeps
from harness.report.sweeps.tables import sweep_tables

__all__ = ["Sweep", "SweepLine", "draw_sweeps", "find_sweeps", "sweep_tables"]
