"""Documents of anybody: what lies in a folder, as texts. `read_folder` is the way in."""

from harness.datasets.folder.file_listing import Skipped
from harness.datasets.folder.reading import FolderCorpus, read_folder

__all__ = ["FolderCorpus", "Skipped", "read_folder"]
