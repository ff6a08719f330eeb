"""A case of the corpus, and how the stories of failures are put together."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from jobledger.core.forensics.bundles.dossier import Dossier, reader_of
from jobledger.core.jobs.evidence.evidence import (
    ContainerEnd,
    KeptLog,
    Missing,
    PodEvidence,
    SeenKubernetesEvent,
)
from jobledger.core.jobs.observations import EvidenceSeen
from jobledger.core.jobs.pending.decisions import DecisionKind
from tests.support import rayjob_stories as stories
from tests.support.rayjob_builders import UNNAMED, after, due, named, poll, submitter
from tests.support.recorded import recorded, stored
from tests.support.rows import Step


@dataclass(frozen=True, kw_only=True)
class Capture:
    """What was captured of an attempt."""

    log: str = ""
    """The end of the driver's log."""
    pods: tuple[PodEvidence, ...] = ()
    kubernetes_events: tuple[SeenKubernetesEvent, ...] = ()
    missing: tuple[Missing, ...] = ()

    @property
    def contents(self) -> Mapping[str, bytes]:
        content = self.log.encode()
        return {digest(content): content} if content else {}

    def seen(self, at: float, attempt: int = 1) -> EvidenceSeen:
        content = self.log.encode()
        logs: tuple[KeptLog, ...] = ()
        if content:
            logs = (
                KeptLog(
                    source="driver",
                    container="ray-head",
                    digest_of_content=digest(content),
                    size=len(content),
                    last_lines=tuple(self.log.splitlines()[-3:]),
                ),
            )
        return named(
            EvidenceSeen(
                id=UNNAMED,
                at=after(at),
                attempt=attempt,
                occasion=f"failure/{attempt}",
                pods=self.pods,
                logs=logs,
                kubernetes_events=self.kubernetes_events,
                missing=self.missing,
            )
        )


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


NOTHING = Capture()


@dataclass(frozen=True, kw_only=True)
class Case:
    """One failure."""

    name: str
    expected: str
    """Name of the class."""
    story: Callable[[], Iterable[Step]]
    capture: Capture = field(default=NOTHING)
    says: str = ""
    """A part of a sentence that must be there; empty: none is asked for."""

    def dossier(self) -> Dossier:
        return Dossier(
            events=stored(recorded(self.story())),
            evidence=reader_of(self.capture.contents),
            origin=self.name,
        )


def pod(
    name: str, *, role: str = "worker", phase: str = "Failed", reason: str = "", message: str = ""
) -> PodEvidence:
    """Return a Pod that says why it is as it is."""
    return PodEvidence(
        name=name, uid=f"uid-{name}", role=role, phase=phase, reason=reason, message=message
    )


def ended(
    name: str, code: int, reason: str = "Error", message: str = "", *, role: str = "worker"
) -> PodEvidence:
    """Return a Pod whose container ended."""
    container = ContainerEnd(
        name="ray", state="terminated", reason=reason, message=message, exit_code=code
    )
    return PodEvidence(
        name=name, uid=f"uid-{name}", role=role, phase="Failed", containers=(container,)
    )


def waiting(name: str, reason: str, message: str = "", *, role: str = "head") -> PodEvidence:
    """Return a Pod whose container does not start."""
    container = ContainerEnd(name="ray", state="waiting", reason=reason, message=message)
    return PodEvidence(
        name=name, uid=f"uid-{name}", role=role, phase="Pending", containers=(container,)
    )


def warning(reason: str, message: str, about: str = "Pod/train-worker") -> SeenKubernetesEvent:
    """Return a Kubernetes Event."""
    return SeenKubernetesEvent(object=about, kind="Warning", reason=reason, message=message)


def entrypoint_failed(
    message: str = "", capture: Capture = NOTHING, code: int | None = 1
) -> Callable[[], Iterable[Step]]:
    """Return a job whose entrypoint fails; evidence is captured right after."""

    def story() -> Iterable[Step]:
        said = message or f"Job entrypoint command failed with exit code {code}"
        return (
            *stories.working(),
            poll("FAILED", 40, message=said, started_at=25, ended_at=39, exit_code=code),
            submitter("Complete", 42),
            capture.seen(43),
        )

    return story


def never_ran(capture: Capture = NOTHING) -> Callable[[], Iterable[Step]]:
    """Return a job that does not get to run before its deadline for that."""

    def story() -> Iterable[Step]:
        return (
            *stories.initializing(pre_running_deadline_seconds=600),
            due(DecisionKind.PRE_RUNNING_DEADLINE),
            capture.seen(601),
        )

    return story


def program(
    name: str, expected: str, log: str, *, message: str = "", code: int | None = 1, says: str = ""
) -> Case:
    """Return a case in which the driver's log tells why."""
    capture = Capture(log=log)
    story = entrypoint_failed(message, capture, code)
    return Case(name=name, expected=expected, story=story, capture=capture, says=says)


def taken(name: str, expected: str, capture: Capture, *, says: str = "") -> Case:
    """Return a case in which what happened to Pods tells why a running attempt failed."""
    story = entrypoint_failed("", capture, None)
    return Case(name=name, expected=expected, story=story, capture=capture, says=says)


def stuck(name: str, expected: str, capture: Capture, *, says: str = "") -> Case:
    """Return a case in which what Pods waited for tells why an attempt never ran."""
    return Case(name=name, expected=expected, story=never_ran(capture), capture=capture, says=says)
