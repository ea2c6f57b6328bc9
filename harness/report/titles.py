"""What a report calls a data set."""

from harness.display.text_format import printable
from harness.store import Manifest


def dataset_name(manifest: Manifest) -> str:
    """Its name and subset."""
    dataset = manifest.identity.get("dataset", {})
    name, subset = str(dataset.get("name", "")), dataset.get("subset")
    return printable(f"{name} ({subset})" if subset and subset != "default" else name)


def dataset_title(manifest: Manifest) -> str:
    """Its own title, else its name and subset; and where the rows under that name are others than those published,
    that they are.
    """
    own = printable(str(manifest.dataset.get("title") or "")) or dataset_name(manifest)
    return f"{own}, not as published" if manifest.dataset.get("is_as_published") is False else own
