"""The sections of a chapter, in order: fixed ones, one for each kind of metric, and those of plug-ins."""

from harness.report.sections.order import sections_of
from harness.report.sections.spec import ANSWER, NOTES, QUESTIONS, SECTIONS, Reported, SectionSpec

__all__ = ["ANSWER", "NOTES", "QUESTIONS", "SECTIONS", "Reported", "SectionSpec", "sections_of"]
