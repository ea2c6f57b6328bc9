"""What the main job does not need: each registers its commands through entry points."""
