"""Compares two runs, and says in plain words what differs: manifest, image, cluster, timing, nodes.

`here` is the run that is asked about, `there` the other one. What is redacted is compared by its
keyed digest, so that it shows as changed or not in runs of one ledger.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from jobledger.core.forensics.bundles.dossier import Dossier
from jobledger.core.forensics.comparing.documents import Place, differing
from jobledger.core.forensics.comparing.run import Run, anonymous, run_of
from jobledger.core.values.documents import Json
from jobledger.core.values.durations import span
from jobledger.core.values.instants import Instant, rfc3339
from jobledger.core.values.visible_text import one_line

FACETS = ("image", "manifest", "objects", "cluster", "timing", "nodes")
"""What is compared, in the order in which it is told."""

FACTOR_MIN = 1.5
SECONDS_MIN = 5.0
"""Two durations differ if one is so many times the other and they are so far apart: runs of the
same thing never take equally long."""

AROUND = 30
"""Characters of a long value that are shown before the first that differs."""

HIDDEN = "redacted:"
"""What a value begins with that is not kept."""

VALUE_MAX = 90
"""Characters of a value in a sentence; `Difference.here` and `.there` have all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Something in which two runs differ."""

    facet: str
    """One of `FACETS`."""
    what: str
    """A path in a document, or what was measured."""
    here: Json
    """None: there is nothing, or it was not seen. Durations are in seconds."""
    there: Json
    text: str
    """The same in words."""
    versions: tuple[int, ...]
    """Events of the run here that say so."""
    other_versions: tuple[int, ...]
    """Events of the run there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Which run one of the two is."""

    kind: str
    cluster: str
    namespace: str
    name: str
    uid: str
    created_at: Instant
    outcome: str
    failure_class: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs side by side."""

    here: Side
    there: Side
    text: str
    """Which two they are and what became of them, in a sentence."""
    differences: tuple[Difference, ...]
    same: tuple[str, ...]
    """Facets in which both are alike."""
    not_known: tuple[str, ...]
    """Facets that could not be compared, each with why, in words."""


def compare(here: Dossier, there: Dossier) -> Comparison:
    """Return what differs between two jobs. Raises as `Dossier.read` does."""
    ours, theirs = run_of(here), run_of(there)
    why_not = dict(_not_known(ours, theirs))
    compared = [facet for facet in FACETS if facet not in why_not]
    found = {facet: tuple(_RULES[facet](ours, theirs)) for facet in compared}
    if "objects" in found:  # what the manifest says otherwise is built otherwise
        names = ours.identity.name, theirs.identity.name
        said = {_pair(one, names) for one in found.get("manifest", ())}
        found["objects"] = tuple(
            one
            for one in found["objects"]
            if _pair(one, names) not in said and not _follows_from_names(one, names)
        )
    told = _told(ours, theirs)
    return Comparison(
        here=_side(ours),
        there=_side(theirs),
        text=told,
        differences=tuple(
            replace(one, text=one_line(one.text)) for facet in compared for one in found[facet]
        ),
        same=tuple(facet for facet in compared if not found[facet] and _has(facet, ours)),
        not_known=tuple(f"{facet}: {why}" for facet, why in why_not.items()),
    )


def _pair(one: Difference, names: tuple[str, str]) -> tuple[str, str]:
    """Return the two values, as they would be of jobs without names."""
    return _shown(anonymous(one.here, names[0])), _shown(anonymous(one.there, names[1]))


def _follows_from_names(one: Difference, names: tuple[str, str]) -> bool:
    """Return whether two values may differ only because they hold the jobs' names, and are hidden.

    What a plugin puts into the environment is: addresses of other nodes.
    """
    both = (one.here, one.there)
    hidden = all(isinstance(value, str) and value.startswith(HIDDEN) for value in both)
    return names[0] != names[1] and hidden


def _has(facet: str, run: Run) -> bool:
    """Return whether a run has a facet: most kinds of job are built as their manifest says."""
    return facet != "objects" or bool(run.built)


def _side(run: Run) -> Side:
    of = run.identity
    return Side(
        kind=run.kind,
        cluster=of.cluster,
        namespace=of.namespace,
        name=of.name,
        uid=of.uid,
        created_at=of.created_at,
        outcome=run.outcome,
        failure_class=run.failure_class,
    )


def _told(ours: Run, theirs: Run) -> str:
    return f"Here {_named(ours)}; there {_named(theirs)}."


def _named(run: Run) -> str:
    of = run.identity
    failed = run.failure_class if run.outcome != "complete" else ""
    why = f" ({failed})" if failed else ""
    made = f"of {rfc3339(of.created_at)}"
    return f"{run.kind} {of.namespace}/{of.name} {made}, {run.outcome}{why}"


def _places(lacking: Sequence[str]) -> str:
    """Return where something is not."""
    return lacking[0] if len(lacking) == 1 else "on either side"


def _not_known(ours: Run, theirs: Run) -> Iterator[tuple[str, str]]:
    """Yield facets that cannot be compared, with why."""
    if ours.kind != theirs.kind:
        yield "manifest", f"a {ours.kind} and a {theirs.kind} have other fields"
        yield "objects", "they are built from other fields"
    elif bool(ours.built) != bool(theirs.built):
        yield "objects", f"none were built {'there' if ours.built else 'here'}"
    lacking = [place for run, place in ((ours, "here"), (theirs, "there")) if not run.nodes]
    if lacking:
        yield "nodes", f"no evidence names one {_places(lacking)}"
    unnamed = [place for run, place in ((ours, "here"), (theirs, "there")) if not run.image]
    if unnamed:
        yield "image", f"none is named {_places(unnamed)}"


def _image(ours: Run, theirs: Run) -> Iterator[Difference]:
    if ours.image != theirs.image:
        yield _difference(
            "image", "image", (ours.image, theirs.image), (ours.image_version, theirs.image_version)
        )


def _manifest(ours: Run, theirs: Run) -> Iterator[Difference]:
    images = (ours.image, theirs.image)
    for place in differing(ours.manifest, theirs.manifest):
        if ours.image != theirs.image and (place.here, place.there) == images:
            continue  # it is told as the image
        yield _of_place("manifest", place, ours.manifest_version, theirs.manifest_version)


def _objects(ours: Run, theirs: Run) -> Iterator[Difference]:
    images = (ours.image, theirs.image)
    for place in differing(ours.built, theirs.built):
        if ours.image != theirs.image and (place.here, place.there) == images:
            continue
        yield _of_place("objects", place, ours.built_version, theirs.built_version)


def _of_place(facet: str, place: Place, version: int, other: int) -> Difference:
    return _difference(facet, place.path, (place.here, place.there), (version, other))


def _cluster(ours: Run, theirs: Run) -> Iterator[Difference]:
    pairs: dict[str, tuple[str, str]] = {
        "Kubernetes cluster": (ours.identity.cluster, theirs.identity.cluster),
        "namespace": (ours.identity.namespace, theirs.identity.namespace),
        "RayCluster": (_whose_cluster(ours), _whose_cluster(theirs)),
    }
    for what, (here, there) in pairs.items():
        if here != there and here and there:
            yield _difference("cluster", what, (here, there), (1, 1))


def _whose_cluster(run: Run) -> str:
    """Return whose RayCluster the last attempt ran on, in words; empty where there is none."""
    last = run.last
    if last is None or not last.cluster:
        return ""
    if last.shared_cluster:
        return f"{last.cluster}, which it selected"
    return "that of the attempt before" if last.same_cluster else "its own"


def _timing(ours: Run, theirs: Run) -> Iterator[Difference]:
    here, there = ours.facts.attempts, theirs.facts.attempts
    if len(here) != len(there):
        yield _difference(
            "timing", "attempts", (len(here), len(there)), (_began(ours), _began(theirs))
        )
    for what, instants in _MEASURES.items():
        pairs = instants(ours), instants(theirs)
        if any(begin is None for begin, _ in pairs):
            continue  # one did not come so far: that is told of what came before
        mine, other = (_seconds(*pair) for pair in pairs)
        is_reached_once = what in _REACHED and (mine is None) != (other is None)
        if not (is_reached_once or _differ(mine, other)):
            continue
        told = f"{what}: {_duration(mine, ours)} here, {_duration(other, theirs)} there"
        yield Difference(
            facet="timing",
            what=what,
            here=mine,
            there=other,
            text=told,
            versions=_versions(ours, *pairs[0]),
            other_versions=_versions(theirs, *pairs[1]),
        )


def _began(run: Run) -> int:
    return run.instants.get(run.last.started_at, 1) if run.last is not None else 1


_Pair = tuple[Instant | None, Instant | None]


def _until_start(run: Run) -> _Pair:
    first = run.facts.attempts[0] if run.facts.attempts else None
    return run.identity.created_at, first.started_at if first is not None else None


def _until_ready(run: Run) -> _Pair:
    last = run.last
    return (last.started_at, last.cluster_ready_at) if last is not None else (None, None)


def _until_running(run: Run) -> _Pair:
    last = run.last
    return (last.started_at, last.running_at) if last is not None else (None, None)


def _running(run: Run) -> _Pair:
    last = run.last
    return (last.running_at, last.ended_at or run.facts.ended_at) if last else (None, None)


def _whole(run: Run) -> _Pair:
    return run.identity.created_at, run.facts.ended_at


_MEASURES: dict[str, Callable[[Run], _Pair]] = {
    "from creation to the first attempt": _until_start,
    "from the last attempt's start to a ready RayCluster": _until_ready,
    "from the last attempt's start to running": _until_running,
    "running, in the last attempt": _running,
    "from creation to the end": _whole,
}

_REACHED = tuple(_MEASURES)[1:3]
"""Of these it is told as well if one run came to it and the other did not; the first sentence tells
which one has ended."""


def _seconds(begin: Instant | None, end: Instant | None) -> float | None:
    if begin is None or end is None:
        return None
    return max(0.0, (end - begin).total_seconds())


def _differ(mine: float | None, other: float | None) -> bool:
    """Return whether two durations that are known are worth telling."""
    if mine is None or other is None:
        return False
    low, high = sorted((mine, other))
    return high - low >= SECONDS_MIN and high >= FACTOR_MIN * low


def _duration(seconds: float | None, run: Run) -> str:
    if seconds is not None:
        return span(seconds)
    return "not yet" if run.outcome == "going on" else "never"


def _versions(run: Run, *instants: Instant | None) -> tuple[int, ...]:
    known = {run.instants[at] for at in instants if at is not None and at in run.instants}
    return tuple(sorted(known)) or (1,)


def _nodes(ours: Run, theirs: Run) -> Iterator[Difference]:
    if set(ours.nodes) == set(theirs.nodes):
        return
    here, there = sorted(ours.nodes), sorted(theirs.nodes)
    yield Difference(
        facet="nodes",
        what="nodes of the last attempt",
        here=here,
        there=there,
        text=f"nodes of the last attempt: {_listed(here)} here, {_listed(there)} there",
        versions=tuple(sorted({item for some in ours.nodes.values() for item in some})),
        other_versions=tuple(sorted({item for some in theirs.nodes.values() for item in some})),
    )


def _listed(names: list[str]) -> str:
    return ", ".join(names)


_RULES: dict[str, Callable[[Run, Run], Iterator[Difference]]] = {
    "image": _image,
    "manifest": _manifest,
    "objects": _objects,
    "cluster": _cluster,
    "timing": _timing,
    "nodes": _nodes,
}


def _difference(
    facet: str, what: str, values: tuple[Json, Json], versions: tuple[int, int]
) -> Difference:
    here, there = values
    return Difference(
        facet=facet,
        what=what,
        here=here,
        there=there,
        text=f"{what}: {_words(here, there)} here, {_words(there, here)} there",
        versions=(versions[0],),
        other_versions=(versions[1],),
    )


def _words(value: Json, other: Json) -> str:
    """Return a value for a sentence; of a long one the part in which the two begin to differ."""
    shown = _shown(value)
    if len(shown) <= VALUE_MAX:
        return shown
    pairs = enumerate(zip(shown, _shown(other), strict=False))
    alike = next((place for place, (one, two) in pairs if one != two), len(shown))
    begin = 0 if alike < VALUE_MAX - AROUND else alike - AROUND
    end = begin + VALUE_MAX
    return f"{'…' if begin else ''}{shown[begin:end]}{'…' if end < len(shown) else ''}"


def _shown(value: Json) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return value or '""'
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
