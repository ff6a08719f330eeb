"""What a life left to be seen, without what has to differ, and where two differ."""

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

from tests.acceptance.witness import JOBSETS, TRAINJOBS
from tests.operators.train_lives.known import in_words_of_both
from tests.operators.train_lives.world import PODGROUPS, SECRETS, World
from tests.support.api import CONFIGMAPS, JOBS

Document = dict[str, Any]

TOLD_CHARACTERS = 600
NOT_COMPARED = ("/texts", "JobSet fit/metadata/generation")
AT_ONCE = re.compile(r" \(first failed job: \S+\)")
"""Of several Jobs that fail at once the JobSet controller names any."""
OF_ITS_OWN = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "deletionTimestamp")


def seen(world: World) -> Document:
    """Return everything that is compared."""
    found: Document = {"watched": list(_conditions(world)), "jobsets": list(_jobsets(world))}
    for number, (name, snapshot) in enumerate(world.steps):
        found[f"{number} {name}"] = _snapshot(snapshot)
    return found


def _conditions(world: World) -> Iterator[Any]:
    last: Any = None
    for verb, document in world.recorder.told(world.api.namespace, TRAINJOBS):
        now = [_plain(one) for one in _shown(document)] if verb != "DELETED" else "deleted"
        if now != last:
            yield now
            last = now


def _jobsets(world: World) -> Iterator[Any]:
    last: Any = None
    for verb, document in world.recorder.told(world.api.namespace, JOBSETS):
        now = (
            "deleted"
            if verb == "DELETED"
            else (document["metadata"]["generation"], document["spec"].get("suspend"))
        )
        if now != last:
            yield now
            last = now


def _shown(job: Document) -> list[Document]:
    """Return the conditions that Trainer has, too."""
    conditions = (job.get("status") or {}).get("conditions") or []
    return [one for one in conditions if one["type"] != "Created"]


def _plain(condition: Document) -> str:
    return "{type}={status} {reason}: {message}".format(**condition)


def _snapshot(snapshot: Document) -> Document:
    jobs = {one["metadata"]["name"]: one for one in snapshot[TRAINJOBS]}
    jobsets = {one["metadata"]["name"]: one for one in snapshot[JOBSETS]}
    found: Document = {
        "replies": {str(i): r[0] or r[1] for i, r in enumerate(snapshot["replies"])},
        "texts": [r[1] for r in snapshot["replies"]],
        "pods": snapshot["pods"],
        "events": {_event(one): True for one in snapshot["events"]},
    }
    uids = {one["metadata"]["uid"]: name for name, one in jobs.items()}
    for name, one in jobs.items():
        found[f"TrainJob {name}"] = _trainjob(one, jobsets.get(name))
    for name, one in jobsets.items():
        found[f"JobSet {name}"] = _object(one, uids) | {"status": _jobset_status(one)}
    for one in snapshot[CONFIGMAPS]:
        if one["metadata"]["name"] != "kube-root-ca.crt":
            found[f"ConfigMap {one['metadata']['name']}"] = _configmap(one, uids)
    for one in snapshot[SECRETS]:
        secret = _object(one, uids)
        secret["data"] = sorted(one.get("data") or {})
        found[f"Secret {one['metadata']['name']}"] = secret
    for resource in PODGROUPS:
        for one in snapshot[resource]:
            found[f"PodGroup {one['metadata']['name']}"] = _object(one, uids)
    found["Jobs"] = {
        one["metadata"]["name"]: bool(one["spec"].get("suspend")) for one in snapshot[JOBS]
    }
    return found


def _event(event: Document) -> str:
    return "{type} {action} {reason}: {message}".format(**event)


def _trainjob(job: Document, jobset: Document | None) -> Document:
    status = job.get("status") or {}
    ended = {
        one["type"].replace("Completed", "Complete"): one["lastTransitionTime"]
        for one in ((jobset or {}).get("status") or {}).get("conditions") or []
        if one["status"] == "True"
    }
    conditions = _shown(job)
    rest = {key: value for key, value in status.items() if key != "conditions"}
    return {
        "metadata": _metadata(job, {}),
        "spec": _untimed(job["spec"]),
        "status": rest
        | {
            "conditions": [_plain(one) for one in conditions],
            "times": {
                one["type"]: one["lastTransitionTime"] == ended[one["type"]]
                for one in conditions
                if one["type"] in ("Complete", "Failed") and one["type"] in ended
            },
        },
    }


def _untimed(spec: Document) -> Document:
    patches = spec.get("runtimePatches")
    if not patches:
        return spec
    return spec | {"runtimePatches": [one | {"time": bool(one.get("time"))} for one in patches]}


def _jobset_status(jobset: Document) -> Document:
    status = jobset.get("status") or {}
    conditions = sorted(_plain(one) for one in status.get("conditions") or [])
    return status | {"conditions": [AT_ONCE.sub("", one) for one in conditions]}


def _configmap(one: Document, uids: Document) -> Document:
    found = _object(one, uids)
    text = (one.get("data") or {}).get("runtime")
    if text and text != "{":
        runtime = yaml.safe_load(text)
        for key in OF_ITS_OWN:
            runtime["metadata"].pop(key, None)
        found["data"] = {"runtime": runtime}
    return found


def _object(document: Document, uids: Document) -> Document:
    return {
        **{k: v for k, v in document.items() if k not in ("metadata", "status")},
        "metadata": _metadata(document, uids),
    }


def _metadata(document: Document, uids: Document) -> Document:
    meta = {k: v for k, v in document["metadata"].items() if k not in OF_ITS_OWN}
    owners = [
        one | {"uid": uids.get(one["uid"], "of another")} for one in meta.get("ownerReferences", [])
    ]
    meta["managers"] = sorted(
        {
            f"{one['manager']} {one['operation']} {one.get('subresource', '')}"
            for one in document["metadata"].get("managedFields") or []
            if one["manager"] == "trainer" and not one.get("subresource")
        }
    )
    meta["deleting"] = "deletionTimestamp" in document["metadata"]
    return meta | ({"ownerReferences": owners} if owners else {})


def with_ends_last(value: Any) -> Any:  # noqa: ANN401 a document
    """Return what was seen with Complete and Failed last, as all settings but `upstream` show."""
    if isinstance(value, dict):
        return {key: with_ends_last(one) for key, one in value.items()}
    if not isinstance(value, list):
        return value
    ends = ("Complete=", "Failed=")
    return sorted(map(with_ends_last, value), key=lambda one: str(one).startswith(ends))


Difference = tuple[str, object, object]
"""Where two values differ, and what they are there."""


def differences(a: object, b: object, path: str = "") -> Iterator[Difference]:
    """Yield where two values differ in what they mean."""
    if path.endswith(NOT_COMPARED) or _text(a) == _text(b):
        return
    if path.endswith("/events"):
        a, b = in_words_of_both(a), in_words_of_both(b)
    is_whole = path.startswith(("/watched", "/jobsets"))
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted({*a, *b}):
            yield from differences(a.get(key), b.get(key), f"{path}/{key}")
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b) and not is_whole:
        for index, (one, other) in enumerate(zip(a, b, strict=True)):
            yield from differences(one, other, f"{path}/{index}")
    else:
        yield path, a, b


def _text(value: object) -> str:
    """Return what is compared of a value: 2 is "2", and what is left out is empty, or nought."""
    return "" if value in (None, "", [], {}, 0) else str(value)


def told(value: object) -> str:
    """Return a value in one line."""
    text = json.dumps(value, sort_keys=True)
    return text if len(text) < TOLD_CHARACTERS else f"{text[: TOLD_CHARACTERS - 60]} … {text[-60:]}"
