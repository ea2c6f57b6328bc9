"""What a report calls a data set."""

from harness.display.text import printable
from harness.store import Manifest


def dataset_name(manifest: Manifest) -> str:
    """Its name and subset."""
    dataset = manifest.identity.get("dataset", {})
    name, subset = str(dataset.get("name", "")), dataset.get("subset")
    return printable(f"{name} ({subset})" if subset and subset != "default" else name)


def dataset_title(manifest: Manifest) -> str:
    """Its name and subset, and where the rows under that name are others than those published, that they are."""
    departs = manifest.dataset.get("is_as_published") is False
    return f"{dataset_name(manifest)}, not as published" if departs else dataset_name(manifest)
