"""What tells runs apart: the parameters in which their identities differ."""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.core.hashing import canonical_json, flatten
from harness.display.text_format import counted, printable
from harness.store.manifest import Manifest

_MISSING = "-"
WEIGHTS = "weights."

Identity = Mapping[str, Any]


def parameter_labels(identities: Sequence[Identity], others: Sequence[Identity] = ()) -> list[str]:
    """One label for each run: the name of its system and, if several runs have it, as few of the parameters as
    distinguish them, the most distinguishing first (`naive search=bm25 top_k=4`). Runs that differ in their data
    only have the same label. A label also has the parameters that tell its system from that of `others`, such as
    the runs of another stage.
    """
    flat, names = [flatten(determining(identity)) for identity in identities], list(map(_system_name, identities))
    rivals: dict[str, list[Mapping[str, Any]]] = {name: [] for name in names}
    for name, own in zip(names, flat, strict=True):
        rivals[name].append(own)
    systems = {name: [_parameters(own) for own in rivals[name]] for name in rivals}
    for other in others:
        systems.setdefault(_system_name(other), []).append(_parameters(flatten(determining(other))))
    telling = {}
    for name, group in rivals.items():
        chosen = {*_telling(group), *_telling(systems[name])}
        order = {key: (_preference(key)[0], -len({_exact(one, key) for one in group}), key) for key in chosen}
        telling[name] = short_keys(sorted(chosen, key=order.__getitem__), flat)
    return [
        " ".join([name, *(f"{short}={shown(own.get(key))}" for key, short in telling[name].items())])
        for name, own in zip(names, flat, strict=True)
    ]


def _system_name(identity: Identity) -> str:
    return printable(str(identity.get("system", {}).get("name", ""))) or "unnamed"


def _parameters(flat: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in flat.items() if key.startswith("system.")}


def determining(identity: Identity) -> dict[str, Any]:
    """What makes a run another one than those over the same data."""
    return {key: value for key, value in identity.items() if key not in {"schema", "dataset"}}


def differing(flat: Sequence[Mapping[str, Any]]) -> list[str]:
    keys = sorted({key for own in flat for key in own}, key=_preference)
    return [key for key in keys if len({_exact(own, key) for own in flat}) > 1]


def _telling(rivals: Sequence[Mapping[str, Any]]) -> list[str]:
    """The first keys, by preference, that distinguish all rivals; choices by name say more than sizes."""

    def order(key: str) -> tuple[int, bool]:
        return _preference(key)[0], not all(isinstance(own.get(key), str) for own in rivals)

    telling: list[str] = []
    groups = 1
    for key in sorted(differing(rivals), key=order):
        now = len({tuple(_exact(own, chosen) for chosen in (*telling, key)) for own in rivals})
        if now > groups:
            telling.append(key)
            groups = now
    return sorted(telling, key=_preference)


def _preference(key: str) -> tuple[int, str]:
    """Parameters of the system first, then models by name, then the rest; digests last."""
    if is_digest(key):
        return 3, key
    if key.startswith("system."):
        return 0, key
    return (1 if key.endswith(".model") else 2), key


def is_digest(key: str) -> bool:
    return key.endswith("_sha256") or key.startswith(WEIGHTS)


def short_keys(keys: Sequence[str], flat: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Each key with its shortest end that no other key shares."""
    every = {key for own in flat for key in own}
    short = {}
    for key in keys:
        parts = key.split(".")
        ends = (".".join(parts[start:]) for start in reversed(range(len(parts))))
        fitting = (end for end in ends if not any(k != key and (k == end or k.endswith(f".{end}")) for k in every))
        short[key] = printable(next(fitting, key))
    return short


def _exact(own: Mapping[str, Any], key: str) -> str:
    return repr(own.get(key, _MISSING))


def shown(value: Any) -> str:
    if value is None:
        return _MISSING
    if isinstance(value, bool):
        return str(value).lower()
    return printable(str(value), 24)


def without_shared_answers(identities: Sequence[Identity]) -> list[dict[str, Any]]:
    """Without the style of answers if all runs with answers share it; runs without a generator have none."""
    styles = {canonical_json(one["answers"]) for one in identities if "answers" in one}
    left_out = {"answers"} if len(styles) < 2 else set()
    return [{key: value for key, value in one.items() if key not in left_out} for one in identities]


def told_apart(manifests: Sequence[Manifest]) -> list[str]:
    """How each run differs from the others, in a few words: data set, system, parameters, number of queries,
    generator; or else when it was made.
    """
    have_generators = all(one.has_generator for one in manifests)
    identities = [
        one.identity if have_generators else {**one.identity, "models": {**one.models, "generator": {}}}
        for one in manifests
    ]
    datasets = [str(one.identity.get("dataset", {}).get("name", "")) for one in manifests]
    labels = parameter_labels(without_shared_answers(identities))
    systems = [label.partition(" ")[0] for label in labels]
    if len({*systems}) == 1:
        labels = [label.partition(" ")[2] for label in labels]
    generators = [
        f"with {one.model('generator').get('model') or 'a generator'}"
        if one.has_generator
        else "without a generator"
        for one in manifests
    ]
    facts = [
        [" ".join(words).strip() for words in zip(_varying(datasets), labels, strict=True)],
        _varying([counted(int(one.dataset.get("n_queries", 0)), "query", "queries") for one in manifests]),
        _varying(generators),
    ]
    found = [", ".join(filter(None, words)) for words in zip(*facts, strict=True)]
    days = [one.created_at[:16].replace("T", " ") for one in manifests]
    return [
        printable(words if found.count(words) == 1 else f"{words}, made {day}".lstrip(" ,"), 200)
        for words, day in zip(found, days, strict=True)
    ]


def _varying(texts: Sequence[str]) -> Sequence[str]:
    return texts if len({*texts}) > 1 else [""] * len(texts)
