"""Jobledger's validation of types: every field that is acted on has the type of upstream's CRD.

An API server with the CRD refuses what these rules name; a lenient one lets it through.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import or_
from types import GenericAlias
from typing import Annotated

import msgspec

from jobledger.core.rayjob.spec.go_values import INT32_MAX, INT32_MIN
from jobledger.core.values.documents import LIST_TYPES, OBJECT_TYPES, Json, Manifest
from jobledger.core.values.float32 import FLOAT32_MAX

SPEC = "The RayJob spec is invalid: "
SHOWN_MAX = 40
"""Characters of a wrong value that a message repeats."""
_DIGITS_SHOWN_BELOW = 10**20


@dataclass(frozen=True, slots=True)
class Shape:
    """What a field must hold."""

    advice: str
    """What to do, as the message says it."""
    holds: Callable[[Json], bool]
    type: object
    """The same as a type for msgspec, which may refuse what holds and never the other way round."""
    shows_text: bool = False
    """Whether a wrong text is repeated; elsewhere it might be a secret in the wrong place."""


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_int32(value: Json) -> bool:
    return isinstance(value, int) and _is_number(value) and INT32_MIN <= value <= INT32_MAX


def _is_float32(value: Json) -> bool:
    return isinstance(value, int | float) and _is_number(value) and abs(value) <= FLOAT32_MAX


def _are_texts(value: Json) -> bool:
    return isinstance(value, OBJECT_TYPES) and all(isinstance(item, str) for item in value.values())


_INT32 = Annotated[int, msgspec.Meta(ge=INT32_MIN, le=INT32_MAX)]
_FLOAT32 = _INT32 | Annotated[float, msgspec.Meta(ge=-FLOAT32_MAX, le=FLOAT32_MAX)]

TEXT = Shape(
    "write a text, in quotes if it looks like something else", lambda v: isinstance(v, str), str
)
FLAG = Shape(
    "write true or false, without quotes", lambda v: isinstance(v, bool), bool, shows_text=True
)
INT32 = Shape(
    f"write a whole number from {INT32_MIN} to {INT32_MAX}, without quotes",
    _is_int32,
    _INT32,
    shows_text=True,
)
FLOAT32 = Shape(
    "write a number that fits 32 bits, without quotes", _is_float32, _FLOAT32, shows_text=True
)
OBJECT = Shape("write an object with named fields", lambda v: isinstance(v, OBJECT_TYPES), dict)
TEXTS = Shape(
    "write an object whose values are all texts (quote numbers and booleans)",
    _are_texts,
    dict[str, str],
)
LIST = Shape("write a list", lambda v: isinstance(v, LIST_TYPES) and not isinstance(v, str), list)

_CONTAINER = (
    ("", OBJECT),
    (".image", TEXT),
    (".command", LIST),
    (".command[]", TEXT),
    (".args", LIST),
    (".args[]", TEXT),
    (".env", LIST),
    (".env[]", OBJECT),
    (".env[].name", TEXT),
    (".ports", LIST),
    (".ports[]", OBJECT),
    (".ports[].name", TEXT),
    (".ports[].containerPort", INT32),
    (".volumeMounts", LIST),
    (".volumeMounts[]", OBJECT),
)
_TEMPLATE = (
    ("", OBJECT),
    (".metadata", OBJECT),
    (".metadata.labels", TEXTS),
    (".metadata.annotations", TEXTS),
    (".spec", OBJECT),
    (".spec.restartPolicy", TEXT),
    (".spec.volumes", LIST),
    (".spec.volumes[]", OBJECT),
    (".spec.containers", LIST),
    *((f".spec.containers[]{path}", shape) for path, shape in _CONTAINER),
)
_GROUP = (
    ("", OBJECT),
    (".rayStartParams", TEXTS),
    (".resources", TEXTS),
    (".labels", TEXTS),
    *((f".template{path}", shape) for path, shape in _TEMPLATE),
)
_CLUSTER = (
    ("", OBJECT),
    (".rayVersion", TEXT),
    (".enableInTreeAutoscaling", FLAG),
    (".autoscalerOptions", OBJECT),
    (".autoscalerOptions.version", TEXT),
    (".autoscalerOptions.idleTimeoutSeconds", INT32),
    (".autoscalerOptions.env", LIST),
    (".autoscalerOptions.env[]", OBJECT),
    (".authOptions", OBJECT),
    (".authOptions.mode", TEXT),
    (".authOptions.secretName", TEXT),
    (".authOptions.enableK8sTokenAuth", FLAG),
    (".gcsFaultToleranceOptions", OBJECT),
    *((f".headGroupSpec{path}", shape) for path, shape in _GROUP),
    (".headGroupSpec.headService", OBJECT),
    (".headGroupSpec.headService.metadata", OBJECT),
    (".headGroupSpec.headService.metadata.name", TEXT),
    (".headGroupSpec.headService.spec", OBJECT),
    (".headGroupSpec.headService.spec.ports", LIST),
    (".headGroupSpec.headService.spec.ports[]", OBJECT),
    (".headGroupSpec.headService.spec.ports[].name", TEXT),
    (".headGroupSpec.headService.spec.ports[].port", INT32),
    (".workerGroupSpecs", LIST),
    *((f".workerGroupSpecs[]{path}", shape) for path, shape in _GROUP),
    (".workerGroupSpecs[].groupName", TEXT),
    (".workerGroupSpecs[].replicas", INT32),
    (".workerGroupSpecs[].minReplicas", INT32),
    (".workerGroupSpecs[].maxReplicas", INT32),
    (".workerGroupSpecs[].numOfHosts", INT32),
    (".workerGroupSpecs[].idleTimeoutSeconds", INT32),
    (".workerGroupSpecs[].priority", INT32),
    (".workerGroupSpecs[].suspend", FLAG),
)
FIELDS: tuple[tuple[str, Shape], ...] = (
    ("submissionMode", TEXT),
    ("entrypoint", TEXT),
    ("runtimeEnvYAML", TEXT),
    ("jobId", TEXT),
    ("managedBy", TEXT),
    ("entrypointResources", TEXT),
    ("entrypointNumCpus", FLOAT32),
    ("entrypointNumGpus", FLOAT32),
    ("metadata", TEXTS),
    ("clusterSelector", TEXTS),
    ("backoffLimit", INT32),
    ("activeDeadlineSeconds", INT32),
    ("preRunningDeadlineSeconds", INT32),
    ("ttlSecondsAfterFinished", INT32),
    ("shutdownAfterJobFinishes", FLAG),
    ("suspend", FLAG),
    ("submitterConfig", OBJECT),
    ("submitterConfig.backoffLimit", INT32),
    ("deletionStrategy", OBJECT),
    ("deletionStrategy.onSuccess", OBJECT),
    ("deletionStrategy.onSuccess.policy", TEXT),
    ("deletionStrategy.onFailure", OBJECT),
    ("deletionStrategy.onFailure.policy", TEXT),
    ("deletionStrategy.deletionRules", LIST),
    ("deletionStrategy.deletionRules[]", OBJECT),
    ("deletionStrategy.deletionRules[].policy", TEXT),
    ("deletionStrategy.deletionRules[].condition", OBJECT),
    ("deletionStrategy.deletionRules[].condition.ttlSeconds", INT32),
    ("deletionStrategy.deletionRules[].condition.jobStatus", TEXT),
    ("deletionStrategy.deletionRules[].condition.jobDeploymentStatus", TEXT),
    *((f"rayClusterSpec{path}", shape) for path, shape in _CLUSTER),
    *((f"submitterPodTemplate{path}", shape) for path, shape in _TEMPLATE),
)
"""Field of `.spec` (`[]`: of every item of a list) -> what it must hold."""


@dataclass(slots=True)
class _Place:
    """A place in a specification, and what lies below it."""

    shape: Shape | None = None
    fields: dict[str, "_Place"] = field(default_factory=dict)
    items: "_Place | None" = None

    def type(self) -> object:
        """Return what a value must be here and below, for msgspec; null counts as absent."""
        if self.items is not None:
            return GenericAlias(list, (self.items.type(),))
        if not self.fields:
            assert self.shape is not None, "a leaf of the table"
            return self.shape.type
        fields = [
            (f"field_{number}", or_(place.type(), None), None)
            for number, place in enumerate(self.fields.values())
        ]
        names = {name: key for (name, _, _), key in zip(fields, self.fields, strict=True)}
        return msgspec.defstruct("Part", fields, rename=names, gc=False)


def _places() -> _Place:
    root = _Place()
    for path, shape in FIELDS:
        place = root
        for key in path.split("."):
            place = place.fields.setdefault(key.removesuffix("[]"), _Place())
            if key.endswith("[]"):
                place.items = place = place.items or _Place()
        place.shape = shape
    return root


_SPEC = _places().type()
msgspec.convert({}, _SPEC)  # learned while this is imported: two threads must not be first at it


def type_problems(spec: Manifest) -> Iterator[str]:
    """Yield every field of `.spec` that does not hold what it must, in the order of `FIELDS`."""
    try:
        msgspec.convert(spec, _SPEC)  # in C; mostly nothing is wrong
    except msgspec.ValidationError:
        yield from _in_order(spec)


def _in_order(spec: Manifest) -> Iterator[str]:
    for path, shape in FIELDS:
        for name, value in _found(spec, path.split("."), "spec"):
            if not shape.holds(value):
                yield f"{SPEC}{name} is {_shown(value, shape)}; {shape.advice}"


def _found(document: Json, path: Sequence[str], place: str) -> Iterator[tuple[str, Json]]:
    """Yield every value at `path` with its full name; null counts as absent, but not in a list."""
    if not path:
        yield place, document
        return
    key = path[0].removesuffix("[]")
    value = document.get(key) if isinstance(document, Mapping) else None
    if value is None:
        return
    if key == path[0]:
        yield from _found(value, path[1:], f"{place}.{key}")
    elif LIST.holds(value) and isinstance(value, Sequence):
        for index, item in enumerate(value):
            yield from _found(item, path[1:], f"{place}.{key}[{index}]")


def _shown(value: Json, shape: Shape) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value[:SHOWN_MAX]}"' if shape.shows_text else "a text"
    if isinstance(value, int):
        return str(value) if abs(value) < _DIGITS_SHOWN_BELOW else "a number beyond 64 bits"
    if isinstance(value, float):
        return repr(value)
    if not isinstance(value, Mapping):
        return "a list"
    odd = next((key for key, item in value.items() if not isinstance(item, str)), None)
    if shape is TEXTS and odd is not None:
        return f'an object whose "{odd[:SHOWN_MAX]}" is {_shown(value[odd], TEXT)}'
    return "an object"
