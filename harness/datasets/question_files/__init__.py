"""Question files; docs/question-files.md describes the format."""

from harness.datasets.question_files.questions import QuestionSet, read_questions

__all__ = ["QuestionSet", "read_questions"]
