"""What one watched RayJob of some 9 kB costs: from the line of the watch to the inbox."""

import itertools
import json
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from bench.figures import Report
from bench.manifests import Document, rayjob
from jobledger.adapters.kube.decoding import ObjectDecoder
from jobledger.adapters.service.objects.declared_secrets import secrets_of
from jobledger.adapters.service.objects.object_cache import ObjectCache
from jobledger.adapters.service.objects.packing import pack
from jobledger.adapters.service.objects.runtime_env import parse_runtime_env
from jobledger.adapters.service.observing.confirmations import Confirmations
from jobledger.adapters.service.observing.mapper import ObservationMapper
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.adapters.service.watches.job_listener import JobListener
from jobledger.adapters.service.work.inbox import Inbox
from jobledger.core.jobs.policy import Policy
from jobledger.core.log.keyed_digests import digest
from jobledger.core.log.redaction.redact import Redactor
from jobledger.core.ports.cluster import RAYJOBS
from jobledger.core.rayjob.spec.spec import read_spec
from jobledger.core.rayjob.validation.validate import validate
from jobledger.core.values.documents import Manifest, text
from tests.support.plugged import watchings

T = TypeVar("T")

OBJECTS = 300
DOOR = ObservationMapper(cluster="bench", policy=Policy(), redaction_key=b"0" * 32)
_VERSIONS = itertools.count(1000)


def measure(report: Report) -> None:
    """Measure a new object, an echo of our own status write, and one that was changed."""
    sample, bare = _line(rayjob("train-0")), json.dumps(_document(rayjob("train-0")))
    size = f"{len(bare) / 1e3:.1f} kB as JSON, {len(sample) / 1e3:.1f} kB with managedFields"
    report.setting("object", size)
    report.setting("objects", OBJECTS)
    decoder = ObjectDecoder(RAYJOBS)
    report.say("decoding")
    lines = [_line(rayjob(f"train-{number}")) for number in range(OBJECTS)]
    decoding = _each(lambda line: decoder.line("bench", line), lines)
    report.figure("decode a watch line", decoding, "µs")
    report.say("taking in")
    listening = Listening(ObjectCache())
    fresh = [_document(rayjob(f"train-{number}")) for number in range(OBJECTS)]
    new = _each(listening.seen, fresh)
    echo = _each(listening.seen, [_again(item, generation=1) for item in fresh])
    changed = _each(listening.seen, [_again(item, generation=2) for item in fresh])
    report.figure("new object", new, "µs")
    report.figure("echo of our own status write", echo, "µs")
    report.figure("changed object", changed, "µs")
    _edits(report)
    _parts(report, fresh, new)


LARGE_EDITS = 20
VARIABLES = 9_000
"""Of a large object: as many as the API server takes."""


def _edits(report: Report) -> None:
    """Say what edits of very large jobs cost, of both kinds."""
    report.say("edits of large jobs")
    for kind in ("RayJob", "TrainJob"):
        for what, name in (("secrets", "V{}_PASSWORD"), ("ordinary variables", "OPTION_{}")):
            listening = Listening(ObjectCache(), kind)
            listening.seen(_large(kind, name, generation=1))
            edits = [_large(kind, name, generation=2 + edit) for edit in range(LARGE_EDITS)]
            cost = _each(listening.seen, edits) / 1000
            report.figure(f"edit of a {kind} of {VARIABLES} {what}", cost, "ms")


def _large(kind: str, name: str, generation: int) -> Document:
    """Return a job with very many variables, each edit with other values."""
    env = [
        {"name": name.format(number), "value": f"layer-{generation}-{number}"}
        for number in range(VARIABLES)
    ]
    made = _document(rayjob("large"))
    made["metadata"]["generation"] = generation
    if kind == "TrainJob":
        return {
            **made,
            "kind": kind,
            "spec": {"runtimeRef": {"name": "t"}, "trainer": {"env": env}},
        }
    pod = {"spec": {"containers": [{"name": "head", "image": "ray", "env": env}]}}
    spec = {**made["spec"], "rayClusterSpec": {"headGroupSpec": {"template": pod}}}
    return {**made, "spec": spec}


def _parts(report: Report, objects: Sequence[Manifest], whole: float) -> None:
    """Say what the parts of taking in a new object cost."""
    report.say("taking it apart")
    redactors = {id(item): Redactor(DOOR.redaction_key, secrets_of(item)) for item in objects}
    runtime_env, _ = parse_runtime_env(text(objects[0], "spec", "runtimeEnvYAML"))
    parts: dict[str, Callable[[Manifest], object]] = {
        "finding its secrets": secrets_of,
        "preparing the redactor": lambda item: Redactor(DOOR.redaction_key, secrets_of(item)),
        "redacting": lambda item: redactors[id(item)].manifest(item, runtime_env),
        "keyed digest": lambda item: digest(DOOR.redaction_key, item["spec"]),
        "packing": pack,
        "parsing the runtime env": lambda item: parse_runtime_env(
            text(item, "spec", "runtimeEnvYAML")
        ),
        "validating": lambda item: validate(item, ""),
        "reading its specification": read_spec,
    }
    costs = {name: _each(work, objects) for name, work in parts.items()}
    costs["preparing the redactor"] -= costs["finding its secrets"]
    for name, cost in costs.items():
        report.figure(f"of an object that is news: {name}", cost, "µs")
    names = ("finding its secrets", "preparing the redactor", "redacting")
    redaction = sum(costs[name] for name in names)
    share = 100 * redaction / (whole + redaction)
    report.figure("of an object that is news: share of redaction", share, "%")


class Listening:
    """A listener with nobody behind it."""

    def __init__(self, live: ObjectCache, kind: str = "RayJob") -> None:
        self._inbox = Inbox()
        around = EventHandlers(
            DOOR, self._inbox, live, Confirmations(), watchings(), lambda _: None
        )
        self._listener = JobListener(around, kind)

    def seen(self, manifest: Manifest) -> None:
        """Take in an object and drop what it says."""
        self._listener.seen(manifest, datetime.now(UTC))
        self._inbox.take(1, 0)

    def new(self, name: str) -> None:
        """Take in a new RayJob."""
        self.seen(_document(rayjob(name)))


def _each(work: Callable[[T], object], items: Sequence[T]) -> float:
    """Return the microseconds of CPU per item."""
    began = time.thread_time()
    for item in items:
        work(item)
    return (time.thread_time() - began) / len(items) * 1e6


def _document(manifest: Document) -> Document:
    """Return a RayJob as the API server gives it, without its managedFields."""
    name = manifest["metadata"]["name"]
    metadata = {
        **manifest["metadata"],
        "uid": f"8f14e45f-{name}",
        "resourceVersion": str(next(_VERSIONS)),
        "generation": 1,
        "creationTimestamp": "2026-11-21T03:00:00Z",
    }
    return {**manifest, "metadata": metadata}


def _again(manifest: Document, generation: int) -> Document:
    """Return an object as it is after a write: of its status, or of its specification."""
    metadata = {
        **manifest["metadata"],
        "resourceVersion": str(next(_VERSIONS)),
        "generation": generation,
    }
    status = {"jobDeploymentStatus": "Running", "jobId": "train-abcde", "failed": 1}
    return {**manifest, "metadata": metadata, "status": status}


def _line(manifest: Document) -> bytes:
    """Return the line of a watch, with managedFields as large as they are in real life."""
    document = _document(manifest)
    fields: Document = {f"f:field-{number}": {} for number in range(150)}
    managed = [
        {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": fields}},
        {"manager": "jobledger", "operation": "Apply", "fieldsV1": {"f:status": {}}},
    ]
    document["metadata"] = {**document["metadata"], "managedFields": managed}
    return json.dumps({"type": "MODIFIED", "object": document}).encode()
