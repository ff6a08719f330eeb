"""Changes of a document, by name: what a case does to a runtime or a TrainJob."""

import copy
from collections.abc import Callable
from typing import Any

Document = dict[str, Any]
Change = Callable[[Document], None]


def put(path: str, value: object) -> Change:
    """Return a change that sets the field at a dotted path; `[n]` goes into lists."""

    def change(document: Document) -> None:
        place: Any = document
        new = copy.deepcopy(value)
        *inner, last = path.split(".")
        for segment in inner:
            if segment.isdigit():
                place = place[int(segment)]
            else:
                place[segment] = place.get(segment) or {}
                place = place[segment]
        if new is None:
            place.pop(last, None)
        else:
            place[last] = new

    return change


def node(**fields: object) -> Change:
    """Return a change of the container that trains, of a runtime."""

    def change(runtime: Document) -> None:
        for item in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
            pod = item["template"]["spec"]["template"]["spec"]
            for container in pod["containers"]:
                if container["name"] == "node":
                    container.update(copy.deepcopy(fields))

    return change


def pods(**fields: object) -> Change:
    """Return a change of every Pod template of a runtime."""

    def change(runtime: Document) -> None:
        for item in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
            item["template"]["spec"]["template"]["spec"].update(copy.deepcopy(fields))

    return change


def jobs(**fields: object) -> Change:
    """Return a change of the specification of every Job of a runtime."""

    def change(runtime: Document) -> None:
        for item in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
            item["template"]["spec"].update(copy.deepcopy(fields))

    return change


def patch(pod: Document | None = None, *, job: str = "node", **template: object) -> Document:
    """Return a runtimePatch of one replicated Job's Pods, or of the template's metadata."""
    spec: Document = {}
    if pod is not None:
        inner = {"name": job, "template": {"spec": {"template": {"spec": pod}}}}
        spec = {"spec": {"replicatedJobs": [inner]}}
    return {"manager": "acme.io/test", "trainingRuntimeSpec": {"template": {**template, **spec}}}
