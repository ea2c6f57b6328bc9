"""Extensions beyond the main job; each registers its commands through entry points."""
