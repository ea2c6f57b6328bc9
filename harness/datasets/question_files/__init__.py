"""Files of questions about documents, as JSON Lines or CSV: docs/question-files.md is their format."""

from harness.datasets.question_files.questions import QuestionSet, read_questions

__all__ = ["QuestionSet", "read_questions"]
