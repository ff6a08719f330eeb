"""Evidence of a case: Pods and Kubernetes Events from sentences, logs from their texts.

A Pod is `<role>[/<container>] <what>[ on <node>]`, and `<what>` one of

* `runs`
* `exited <code> [<reason>][: <termination message>]`
* `waits <reason>[: <message>]`
* `is <phase> [<reason>][: <message>]`, said of the Pod itself

A Kubernetes Event is `<Normal or Warning> <reason> <Kind>/<name>: <message>`.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from jobledger.core.jobs.evidence.evidence import (
    LOG_BYTES_MAX,
    LOG_LINES_MAX,
    ContainerEnd,
    KeptLog,
    Missing,
    PodEvidence,
    SeenKubernetesEvent,
)
from tests.failure_corpus.cases import Failure

_POD = re.compile(
    r"(?P<role>[\w-]+)(?:/(?P<container>[\w-]+))? (?P<verb>runs|exited|waits|is)"
    r"(?: (?P<word>\w+))?(?: (?P<reason>\w+))??(?:: (?P<message>.*?))?(?: on (?P<node>[\w.-]+))?",
    re.DOTALL,
)
_EVENT = re.compile(
    r"(?P<kind>Normal|Warning) (?P<reason>\w+) (?P<object>\w+/\S+): (?P<message>.*)", re.DOTALL
)
LAST_LINES = 3
"""So many lines of a log stand in the event that names it."""


def pods(case: Failure, job: str) -> tuple[PodEvidence, ...]:
    """Return the Pods of a case's evidence. Raise `ValueError` for a sentence of another form."""
    numbers: Counter[str] = Counter()
    return tuple(_pod(text.strip(), job, numbers) for text in case.pods)


def _pod(text: str, job: str, numbers: Counter[str]) -> PodEvidence:
    found = _POD.fullmatch(text)
    if found is None:
        raise ValueError(f"no sentence about a Pod: {text}")
    role, verb, message = found["role"], found["verb"], found["message"] or ""
    container = found["container"] or ""
    name = f"{job}-{role}-{numbers[role]}"
    numbers[role] += 1
    ends: tuple[ContainerEnd, ...] = ()
    phase, reason, said = "Running", "", ""
    if verb == "is":
        phase, reason, said = found["word"] or "", found["reason"] or "", message
    elif verb == "exited":
        phase = "Failed"
        code = int(found["word"])
        ends = (
            ContainerEnd(
                name=container,
                state="terminated",
                reason=found["reason"] or "Error",
                message=message,
                exit_code=code,
            ),
        )
    elif verb == "waits":
        phase = "Pending"
        word = found["word"] or ""
        ends = (ContainerEnd(name=container, state="waiting", reason=word, message=message),)
    else:
        ends = (ContainerEnd(name=container, state="running"),)
    return PodEvidence(
        name=name,
        uid=f"uid-of-{name}",
        role=role,
        phase=phase,
        node=found["node"] or "",
        reason=reason,
        message=said,
        containers=ends,
    )


def kubernetes_events(case: Failure) -> tuple[SeenKubernetesEvent, ...]:
    """Return the Kubernetes Events of a case. Raise `ValueError` for one of another form."""
    return tuple(_kubernetes_event(text.strip()) for text in case.events)


def _kubernetes_event(text: str) -> SeenKubernetesEvent:
    found = _EVENT.fullmatch(text)
    if found is None:
        raise ValueError(f"no sentence about a Kubernetes Event: {text}")
    return SeenKubernetesEvent(
        object=found["object"],
        kind=found["kind"],
        reason=found["reason"],
        message=found["message"],
    )


def missing(case: Failure) -> tuple[Missing, ...]:
    """Return what could not be had of a case's evidence, each `<what>: <why>`."""
    split = (text.partition(": ") for text in case.missing)
    return tuple(Missing(what=what, why=why) for what, _, why in split)


def contents(case: Failure) -> Mapping[str, bytes]:
    """Return the logs of a case as they are kept, by digest."""
    return {_digest(content): content for _, content in _logs(case)}


def kept_logs(case: Failure, job: str) -> tuple[KeptLog, ...]:
    """Return what the event says of a case's logs, in their order."""
    containers = {one.role: (one.name, one.containers) for one in reversed(pods(case, job))}
    kept = []
    for whose, content in _logs(case):
        name, ends = containers.get(whose, (f"{job}-{whose}-0", ()))
        of_pod = whose not in ("driver", "submitter")
        kept.append(
            KeptLog(
                source=name if of_pod else whose,
                container=ends[0].name if of_pod and ends else "",
                digest_of_content=_digest(content),
                size=len(content),
                last_lines=tuple(content.decode().splitlines()[-LAST_LINES:]),
            )
        )
    return tuple(kept)


def _logs(case: Failure) -> Iterator[tuple[str, bytes]]:
    for whose, text in case.log.items():
        lines = text.splitlines(keepends=True)[-LOG_LINES_MAX:]
        yield whose, "".join(lines).encode()[-LOG_BYTES_MAX:]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
