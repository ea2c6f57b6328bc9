"""Short labels of runs and data sets."""

import itertools
from collections.abc import Mapping, Sequence
from datetime import datetime

from harness.core.hashing import flatten
from harness.display.text_format import counted, printable
from harness.store import Manifest
from harness.store.run_labels import (
    WEIGHTS,
    Identity,
    determining,
    differing,
    is_digest,
    parameter_labels,
    short_keys,
    shown,
)

_LONGEST_NAME = 60
"""A system and three parameters or four; a headline holds two such names."""


def run_labels(manifests: Sequence[Manifest], others: Sequence[Manifest] = ()) -> list[str]:
    """The user's name of each run, else that of `labels`, or both, and the version of its documents."""
    identities, beside = ([manifest.identity for manifest in some] for some in (manifests, others))
    plain, names = parameter_labels(identities, beside), [printable(m.name) for m in manifests]
    found = []
    for label, name, version in zip(plain, names, document_versions(manifests), strict=True):
        called = name if name and names.count(name) == 1 else f"{name} {label}".strip()
        found.append(f"{called} ({version})" if version else called)
    return _distinct(found)


def labels(identities: Sequence[Identity]) -> list[str]:
    """The system of each run and, if several have it, as few parameters as distinguish them (`naive top_k=4`)."""
    return _distinct(parameter_labels(identities))


def shortened(label: str, longest: int = _LONGEST_NAME) -> str:
    """Beginning, the system, and end of a label. Those of `labels` stay different at the default length."""
    line, half = printable(label, 10 * _LONGEST_NAME), longest // 2
    return line if len(line) <= longest else f"{line[: half - 1]}…{line[-half:]}"


def differences(identities: Sequence[Identity]) -> dict[str, list[str]]:
    """Short key -> its value in each run, of everything in which the runs differ but the data set and digests."""
    flat = [flatten(determining(identity)) for identity in identities]
    keys = [key for key in differing(flat) if not is_digest(key)]
    return {
        short: [shown(own.get(key)) for own in flat]
        for key, short in short_keys(keys, flat).items()
        if key != "system.name"
    }


def other_weights(identities: Sequence[Identity]) -> list[str]:
    """Names under which runs loaded different weights, if nothing but the digest differs."""
    flat = [flatten(determining(identity)) for identity in identities]
    found = []
    for key in differing(flat):
        if not (key.startswith(WEIGHTS) or key.endswith(".weights_sha256")):
            continue
        # The name may contain a dot. Of a model it is not all that is known.
        name = key[len(WEIGHTS) :] if key.startswith(WEIGHTS) else key.rpartition(".")[0]
        alike: dict[str, set[str]] = {}
        for own in flat:
            if own.get(key) is not None:
                beside = [
                    (one, own[one]) for one in sorted(own) if one.startswith(f"{name}.") and not is_digest(one)
                ]
                alike.setdefault(name if key.startswith(WEIGHTS) else repr(beside), set()).add(str(own[key]))
        if any(len(digests) > 1 for digests in alike.values()):
            found.append(printable(name))
    return found


def _distinct(found: list[str]) -> list[str]:
    """Adds a number to labels that would become the same when shortened."""
    short = [shortened(label) for label in found]
    counts = {label: itertools.count(1) for label in short}
    return [
        label if short.count(cut) == 1 else f"{label} ({next(counts[cut])})"
        for label, cut in zip(found, short, strict=True)
    ]


def dataset_name(manifest: Manifest) -> str:
    dataset = manifest.identity.get("dataset", {})
    name, subset = str(dataset.get("name", "")), dataset.get("subset")
    return printable(f"{name} ({subset})" if subset and subset != "default" else name)


def dataset_title(manifest: Manifest) -> str:
    """Its own title, else its name and subset, and whether its rows differ from the published ones."""
    own = printable(str(manifest.dataset.get("title") or "")) or dataset_name(manifest)
    return f"{own}, not as published" if manifest.dataset.get("is_as_published") is False else own


def document_versions(manifests: Sequence[Manifest]) -> list[str]:
    """For each run, the version of its folder of documents, if runs of the same data set searched several: the day
    of its first run, and the change since the version before (`27 Nov, 3 documents more`). Otherwise empty.
    """
    first: dict[str, dict[str, Manifest]] = {}
    for manifest in sorted(manifests, key=lambda one: one.created_at):
        if digest := _own_documents(manifest):
            first.setdefault(dataset_name(manifest), {}).setdefault(digest, manifest)
    texts = {name: _versions(list(own.values())) for name, own in first.items() if len(own) > 1}
    return [texts.get(dataset_name(one), {}).get(_own_documents(one), "") for one in manifests]


def _own_documents(manifest: Manifest) -> str:
    """The digest of a folder of documents that the user named; empty for any other data set."""
    data = manifest.config.get("dataset")
    is_own = isinstance(data, Mapping) and data.get("path")
    return str(manifest.dataset.get("corpus_digest") or "") if is_own else ""


def _versions(manifests: Sequence[Manifest]) -> dict[str, str]:
    """Digest of the documents -> description, for the first run of each version, in order."""
    days = [_moment(one, "%d %b") for one in manifests]
    if len({_moment(one, "%Y") for one in manifests}) > 1:
        days = [_moment(one, "%d %b %Y") for one in manifests]
    if len({*days}) < len(days):
        days = [_moment(one, "%d %b %H:%M") for one in manifests]
    counts = [one.dataset.get("n_documents") or 0 for one in manifests]
    changes = [""]
    for more in (now - then for then, now in itertools.pairwise(counts)):
        word = "more" if more > 0 else "fewer"
        changes.append(f"{counted(abs(more), 'document')} {word}" if more else "documents changed")
    return {
        _own_documents(one): ", ".join(filter(None, (day, change)))
        for one, day, change in zip(manifests, days, changes, strict=True)
    }


def _moment(manifest: Manifest, form: str) -> str:
    try:
        return datetime.fromisoformat(manifest.created_at).strftime(form).lstrip("0")
    except ValueError:
        return printable(manifest.created_at[:10])
