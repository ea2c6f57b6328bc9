"""Documents in a folder, read as texts. `read_folder` is the entry point."""

from harness.datasets.folder.reading import FolderCorpus, read_folder

__all__ = ["FolderCorpus", "read_folder"]
