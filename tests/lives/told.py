"""What is left of a life: what a watch saw, and what there is at its end; no names, no times."""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.lives.acting import Actor
from tests.lives.world import EVENTS, PODGROUPS, RAYCLUSTERS
from tests.support.api import JOBS, RAYJOBS, SERVICES
from tests.upstream.comparing import plain
from tests.upstream.rayjobs import by_name, size

OF_THE_SERVER = frozenset(
    {
        *("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"),
        *("clusterIP", "clusterIPs", "healthCheckNodePort"),
    }
)
"""Fields that the API server fills in, each time otherwise."""

MADE = (RAYCLUSTERS, JOBS, SERVICES, PODGROUPS)
"""Kinds of what is made for a RayJob."""

_TIME = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(Z|( [+-]\d{4} \w+)?( m=\S+)?|[+-]\d\d:\d\d)?"
)


@dataclass(slots=True)
class Told:
    """One life in one world."""

    phases: list[dict[str, Any]] = field(default_factory=list)
    """The last status of each phase, as the phases follow each other."""
    end: dict[str, Any] = field(default_factory=dict)
    stopped_at: str = ""
    """The step that was waited for in vain."""


def tell(actor: Actor, stopped_at: str) -> Told:
    """Return what is left of a life."""
    told = Told(stopped_at=stopped_at)
    names, starts = _names(actor), list[str]()
    for status in actor.statuses():
        if (start := str(status.get("startTime") or "")) and start not in starts:
            starts.append(start)
        shown = _shown(status, names)
        shown["startTime"] = f"start {starts.index(start) + 1}" if start else ""
        if told.phases and told.phases[-1]["jobDeploymentStatus"] == shown["jobDeploymentStatus"]:
            told.phases.pop()
        told.phases.append(shown)
    told.end = {
        **_object(actor),
        **_children(actor),
        "made": _made(actor, names),
        **_events(actor, names),
        "asked": _asked(actor),
        "done": actor.done,
    }
    return told


def _names(actor: Actor) -> list[tuple[str, str]]:
    """Return the names that are made up, and what stands for each."""
    found: dict[str, str] = {}
    for status in actor.statuses():
        for key, stands_for in (("rayClusterName", "<cluster>"), ("jobId", "<id>")):
            value = str(status.get(key) or "")
            if value.startswith(f"{actor.name}-"):
                found[value] = stands_for
    return sorted(found.items(), key=lambda pair: -len(pair[0]))


def _shown(status: dict[str, Any], names: list[tuple[str, str]]) -> dict[str, Any]:
    shown: dict[str, Any] = {"jobDeploymentStatus": "", "jobStatus": "", "reason": ""}
    for key, value in status.items():
        if key == "rayClusterStatus":
            kept = {name: item for name, item in value.items() if name in ("state", "head")}
            shown[key] = _plain(str({name: item for name, item in kept.items() if item}), names)
        elif key == "rayJobInfo":
            shown[key] = ",".join(sorted(value))
        elif key != "observedGeneration":
            shown[key] = _plain("" if value is None else str(value), names)
    return shown


def _plain(text: str, names: list[tuple[str, str]]) -> str:
    for name, stands_for in names:
        text = text.replace(name, stands_for)
    return _TIME.sub("<time>", text)


def _object(actor: Actor) -> dict[str, Any]:
    kind, document = actor.world.history(RAYJOBS, actor.name)[-1]
    metadata = document["metadata"]
    return {
        "rayjob": "gone" if kind == "DELETED" else "there",
        "deleting": bool(metadata.get("deletionTimestamp")) and kind != "DELETED",
        "finalizers": [] if kind == "DELETED" else metadata.get("finalizers") or [],
    }


def _children(actor: Actor) -> dict[str, Any]:
    """Return what became of each object that was made for the RayJob, and of which edit it is."""
    made = {kind: actor.world.made_for(kind, actor.name) for kind in MADE}
    clusters = [one["metadata"]["name"] for one in made[RAYCLUSTERS]]
    return {
        "clusters": [
            f"{_fate(one)}, Ray {one['spec'].get('rayVersion')}" for one in made[RAYCLUSTERS]
        ],
        "submitters": [f"{_fate(one)}, {_script(one)}" for one in made[JOBS]],
        "services": [
            f"{one['metadata']['name'].removeprefix(actor.name)} {_fate(one)}, "
            f"of RayCluster {_place(clusters, one['spec']['selector'].get('ray.io/cluster'))}"
            for one in made[SERVICES]
        ],
        "pod groups": [f"{_fate(one)}, {size(one['spec'])}" for one in made[PODGROUPS]],
    }


def _place(clusters: list[str], name: str) -> int:
    """Return which of them it is, if it is there still."""
    return clusters.index(name) + 1 if name in clusters else 0


def _fate(made: dict[str, Any]) -> str:
    groups = made["spec"].get("workerGroupSpecs") or []
    asleep = any(group.get("suspend") for group in groups)
    going = bool(made["metadata"].get("deletionTimestamp"))
    fate = "gone" if made["gone"] else "deleting" if going else "left"
    return fate + (" without workers" if asleep else "")


def _script(submitter: dict[str, Any]) -> str:
    """Return which script a submitter hands in."""
    found = re.search(r"python (\w\.py)", str(submitter["spec"]["template"]["spec"]))
    return found[1] if found else "nothing"


def _made(actor: Actor, names: list[tuple[str, str]]) -> dict[str, Any]:
    """Return what was asked of the API server and of the heads, without what is made up."""
    made: list[dict[str, Any]] = []
    for kind in MADE:
        numbers = {one["metadata"]["uid"]: 0 for one in actor.world.made_for(kind, actor.name)}
        for _, document in list(actor.world.seen[kind]):
            uid = document["metadata"]["uid"]
            if numbers.get(uid) == 0:
                numbers[uid] = sum(number > 0 for number in numbers.values()) + 1
                made.append(_as_made(document, str(numbers[uid]), names))
    ids = {status.get("jobId") for status in actor.statuses()}
    asked = [
        body
        for cluster, body in actor.world.heads.bodies
        if _is_of(actor, cluster) and body["submission_id"] in ids
    ]
    sent = {f"Submission/{n}": _plainly(plain(one), names) for n, one in enumerate(asked, 1)}
    return by_name(made) | sent


def _as_made(document: dict[str, Any], number: str, names: list[tuple[str, str]]) -> dict[str, Any]:
    """Return an object as its maker wrote it, defaults of the API server included."""
    made: dict[str, Any] = _plainly(document, names)
    metadata = {key: item for key, item in made["metadata"].items() if key not in OF_THE_SERVER}
    for owner in metadata["ownerReferences"]:
        del owner["uid"]
    spec = {key: item for key, item in made["spec"].items() if key not in OF_THE_SERVER}
    if made["kind"] == "Job":
        del spec["selector"]
        for labels in (metadata["labels"], spec["template"]["metadata"]["labels"]):
            for key in [key for key in labels if key.endswith("controller-uid")]:
                del labels[key]
    for port in spec.get("ports", []) if made["kind"] == "Service" else []:
        port.pop("nodePort", None)
    return {**made, "metadata": metadata | {"name": number}, "spec": spec}


def _plainly(document: Any, names: list[tuple[str, str]]) -> Any:  # noqa: ANN401 any JSON
    return json.loads(_plain(json.dumps(document), names))


def _is_of(actor: Actor, cluster: str) -> bool:
    made = actor.world.made_for(RAYCLUSTERS, actor.name)
    return cluster in {actor.selected, *(one["metadata"]["name"] for one in made)}


def _events(actor: Actor, names: list[tuple[str, str]]) -> dict[str, Any]:
    """Return how often each Kubernetes Event was told, by reason and in words."""
    found: Counter[str] = Counter()
    notes: Counter[str] = Counter()
    for event in actor.world.api.list(EVENTS).body["items"]:
        about = event["regarding"]
        if about.get("kind") == "RayJob" and about.get("name") == actor.name:
            series = event.get("series") or {}
            times = max(series.get("count", 1), event.get("deprecatedCount", 1), 1)
            found[event["reason"]] += times
            note = "" if event["reason"].startswith("FailedTo") else event["note"]  # our client's
            words = " ".join(f"{event['reason']} {event['type']} {note}".splitlines())
            notes[_plain(words, names)] += times
    return {"events": dict(sorted(found.items())), "notes": dict(sorted(notes.items()))}


def _asked(actor: Actor) -> dict[str, int]:
    heads = actor.world.heads
    return {
        "submissions": sum(_is_of(actor, cluster) for cluster, _ in heads.submissions),
        "stops": sum(_is_of(actor, cluster) for cluster, _ in heads.stops),
    }
