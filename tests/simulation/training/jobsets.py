"""JobSets of several Jobs, one thing at a time: they wait for each other, fail, begin anew, end.

Source: JobSet v0.12: dependsOn, startupPolicy, successPolicy, failurePolicy, conditions, the time
after which one that has ended is deleted.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from jobledger.core.ports.cluster import CONFIGMAPS, JOBSETS, POD_GROUPS, SECRETS, TRAINJOBS
from jobledger.core.trainjob.building.runtimes import trainjob_owner
from jobledger.core.trainjob.names import SNAPSHOT_ENDING, SNAPSHOT_KEY
from jobledger.core.values.documents import Manifest, child, items, number, text
from jobledger.core.values.instants import rfc3339
from tests.simulation.documents import Document
from tests.simulation.jobsets import COUNTERS, ended
from tests.simulation.kubernetes import SimulatedApi
from tests.simulation.nature import Move, Nature
from tests.simulation.training.jobset_states import (
    ENDS,
    SHOWN,
    condition_of,
    ends_of,
    is_complete,
    may_start,
    on_other_nodes,
    other_conditions,
    states_of,
)

MADE = (JOBSETS, CONFIGMAPS, SECRETS, POD_GROUPS)
"""What is made for TrainJobs."""
FIRST = ("dataset-initializer", "model-initializer")
INITIALIZER_FAILS = 0.15
GARBLED = ("", "{", "kind: ClusterTrainingRuntime\nmetadata:\n  name: another\n")
TEMPLATE_MAY_CHANGE = ("nodeSelector", "tolerations", "schedulingGates")


@dataclass
class JobSetWebhook:
    """What refuses changes of a JobSet.

    Source: JobSet v0.12, jobset_webhook.go: of one that is suspended the Pods' labels,
    annotations, node selectors, tolerations and gates may change, of one that runs nothing.
    """

    refused: set[str] = field(default_factory=set)
    """UIDs of JobSets of which the last change was refused."""

    def refuses(self, known: Manifest, changed: Manifest) -> bool:
        """Return whether a change is refused."""
        before, after, uid = child(known, "spec"), child(changed, "spec"), _uid(known)
        may_change = before.get("suspend") is True or after.get("suspend") is True
        refused = _settled(before, may_change) != _settled(after, may_change)
        (self.refused.add if refused else self.refused.discard)(uid)
        return refused


def _uid(item: Manifest) -> str:
    return text(item, "metadata", "uid")


def _settled(spec: Manifest, may_change: bool) -> Manifest:
    """Return what may not change."""
    left: Document = {key: value for key, value in spec.items() if key != "suspend"}
    if may_change:
        left["replicatedJobs"] = [_settled_job(child(one)) for one in items(spec, "replicatedJobs")]
    return left


def _settled_job(job: Manifest) -> Manifest:
    template = child(job, "template")
    pod = child(template, "spec", "template", "spec")
    kept = {key: value for key, value in pod.items() if key not in TEMPLATE_MAY_CHANGE}
    rest = {key: value for key, value in child(template, "spec").items() if key != "template"}
    return {**job, "template": {"spec": {**rest, "template": {"spec": kept}}}}


@dataclass
class RealJobSets:
    """The JobSet controller, with the Jobs and Pods under it."""

    api: SimulatedApi
    nature: Nature
    webhook: JobSetWebhook

    def possible(self) -> list[Move]:
        """Return what can happen next."""
        return [*self._of_leaving(), *self._of_jobsets()]

    def troubles(self) -> list[Move]:
        """Return what can go wrong next."""
        return [*self._of_jobsets_trouble(), *self._of_the_rest()]

    def owed(self) -> list[Move]:
        """Return what somebody does in the end: a JobSet that takes no change makes room."""
        return [
            (f"JobSet {text(one, 'metadata', 'name')}, which takes no change, is deleted", remove)
            for one in self._jobsets()
            if _uid(one) in self.webhook.refused and not ended(one)
            for remove in [partial(self.nature.remove, JOBSETS, one)]
        ]

    def _jobsets(self) -> Iterator[Manifest]:
        for one in self.api.all(JOBSETS):
            if not text(one, "metadata", "deletionTimestamp"):
                yield one

    def _of_leaving(self) -> Iterator[Move]:
        for resource in MADE:
            for item in self.api.all(resource):
                if text(item, "metadata", "deletionTimestamp"):
                    name = text(item, "metadata", "name")
                    yield (
                        f"{resource.kind} {name} goes",
                        partial(self.nature.let_go, resource, item),
                    )

    def _of_jobsets(self) -> Iterator[Move]:
        for one in self._jobsets():
            name = text(one, "metadata", "name")
            if ended(one):
                yield from self._after_the_end(one, name)
            elif child(one, "spec").get("suspend") is True:
                yield from self._suspending(one, name)
            elif condition_of(one, "RestartingJobSet") == "True":
                known = [
                    *other_conditions(one, "RestartingJobSet"),
                    self._said("RestartingJobSet", "False"),
                ]
                yield f"JobSet {name} has restarted", partial(self._put, one, conditions=known)
            else:
                yield from self._running(one, name)

    def _after_the_end(self, one: Manifest, name: str) -> Iterator[Move]:
        states = states_of(one)
        if any(state in SHOWN for state in states.values()):
            over = {job: "failed" if state in SHOWN else state for job, state in states.items()}
            yield f"JobSet {name} has wound up", partial(self._show, one, over)
        elif "ttlSecondsAfterFinished" in child(one, "spec"):
            yield f"JobSet {name} expires", partial(self.nature.remove, JOBSETS, one)

    def _suspending(self, one: Manifest, name: str) -> Iterator[Move]:
        for job, state in states_of(one).items():
            if state not in ("suspended", "succeeded"):
                after = {**states_of(one), job: "suspended"}
                yield f"{job} of JobSet {name} is suspended", partial(self._show, one, after)

    def _running(self, one: Manifest, name: str) -> Iterator[Move]:
        states = states_of(one)
        if is_complete(one, states):
            end = partial(self._end, one, "Completed")
            yield f"JobSet {name}: Completed", end
            return
        before: list[str] = []
        for job, state in states.items():
            waits = not may_start(one, job, states, before)
            before.append(job)
            if state == "failed":
                yield from self._failed(one, name)
            elif waits and state in ("", "suspended"):
                continue
            elif state == "ready":
                yield (
                    f"{job} of JobSet {name} {self._end_of(job)}",
                    partial(self._show, one, {**states, job: self._end_of(job)}),
                )
            elif state != "succeeded":
                after = "ready" if state == "active" else "active"
                yield (
                    f"{job} of JobSet {name} is {after}",
                    partial(self._show, one, {**states, job: after}),
                )

    def _end_of(self, job: str) -> str:
        dice = self.nature.dice.random()
        if job in FIRST:
            return "succeeded" if dice > INITIALIZER_FAILS else "failed"
        return "succeeded" if dice < self.nature.success else "failed"

    def _failed(self, one: Manifest, name: str) -> Iterator[Move]:
        most = number(one, "spec", "failurePolicy", "maxRestarts") or 0
        if (number(one, "status", "restarts") or 0) < most:
            yield f"JobSet {name} begins anew", partial(self._restart, one)
        else:
            yield f"JobSet {name}: Failed", partial(self._end, one, "Failed")

    def _of_jobsets_trouble(self) -> Iterator[Move]:
        for one in self._jobsets():
            name, states = text(one, "metadata", "name"), states_of(one)
            if ended(one):
                yield f"the end of JobSet {name} is told twice", partial(self._retell, one)
                yield f"the end of JobSet {name} is taken back", partial(self._take_back, one)
                yield f"the end of JobSet {name} turns", partial(self._turn, one)
                continue
            if child(one, "spec").get("suspend") is True:
                edit = partial(self._edit, one)
                yield from [(f"somebody edits the Pods of JobSet {name}", edit)] * 6
                continue
            for job, state in states.items():
                if state == "ready":
                    after = partial(self._show, one, {**states, job: "active"})
                    yield f"{job} of JobSet {name} is not ready", after
                if state in SHOWN:
                    after = partial(self._show, one, {**states, job: "failed"})
                    yield f"{job} of JobSet {name} fails", after
            if any(states.values()):
                yield f"JobSet {name} restarts", partial(self._restart, one)

    def _of_the_rest(self) -> Iterator[Move]:
        for resource in MADE:
            for item in self.api.all(resource):
                name = text(item, "metadata", "name")
                if trainjob_owner(item):
                    remove = partial(self.nature.remove, resource, item)
                    yield f"somebody deletes {resource.kind} {name}", remove
                if resource is CONFIGMAPS and name.endswith(SNAPSHOT_ENDING):
                    yield f"somebody garbles {name}", partial(self._garble, item)
        for job in self.api.all(TRAINJOBS):
            if status := child(job, "status"):
                name, theirs = text(job, "metadata", "name"), {**status, "conditions": []}
                empty = partial(self.api.overwrite, TRAINJOBS, job, theirs)
                yield f"somebody empties the conditions of {name}", empty

    def _show(self, one: Manifest, states: dict[str, str]) -> None:
        """Show how far the Jobs are, and what of the start follows."""
        counts = [
            {"name": job, **{name: int(name in SHOWN.get(state, (state,))) for name in COUNTERS}}
            for job, state in states.items()
        ]
        more: Document = {}
        if text(one, "spec", "startupPolicy", "startupPolicyOrder") == "InOrder":
            up = all(state in ("ready", "succeeded") for state in states.values())
            begun = "StartupPolicyCompleted" if up else "StartupPolicyInProgress"
            if condition_of(one, begun) != "True":
                known = other_conditions(one, begun)
                more["conditions"] = [*known, self._said(begun, "True")]
        self._put(one, replicatedJobsStatus=counts, **more)

    def _restart(self, one: Manifest) -> None:
        restarts = (number(one, "status", "restarts") or 0) + 1
        known = [*other_conditions(one, "RestartingJobSet"), self._said("RestartingJobSet", "True")]
        self._show(one, dict.fromkeys(states_of(one), ""))
        self._put(self._now(one), restarts=restarts, conditions=known)

    def _now(self, one: Manifest) -> Manifest:
        metadata = child(one, "metadata")
        found = self.api.get(JOBSETS, text(metadata, "namespace"), text(metadata, "name"))
        return found if found is not None else one

    def _end(self, one: Manifest, end: str) -> None:
        known = other_conditions(one, *ENDS)
        self._put(one, conditions=[*known, self._said(end, "True", "AllJobsCompleted")])

    def _retell(self, one: Manifest) -> None:
        (end,) = [text(item, "type") for item in ends_of(one)][:1]
        known = other_conditions(one, *ENDS)
        self._put(one, conditions=[*known, self._said(end, "True", "ToldAgain")])

    def _take_back(self, one: Manifest) -> None:
        self._put(one, conditions=other_conditions(one, *ENDS), restarts=0)
        self._show(self._now(one), dict.fromkeys(states_of(one), ""))

    def _turn(self, one: Manifest) -> None:
        now = [text(item, "type") for item in ends_of(one)]
        other = "Failed" if "Completed" in now else "Completed"
        self._put(one, conditions=[*other_conditions(one, *ENDS), self._said(other, "True")])

    def _said(self, kind: str, status: str, reason: str = "") -> Document:
        at = rfc3339(self.nature.now())
        about = {"reason": reason or kind, "message": f"{kind} is {status}"}
        return {"type": kind, "status": status, **about, "lastTransitionTime": at}

    def _put(self, one: Manifest, **changed: Any) -> None:  # noqa: ANN401 any JSON
        status = {**child(one, "status"), **changed}
        metadata = child(one, "metadata")
        self.api.replace(JOBSETS, {"metadata": metadata, "status": status}, "status")

    def _edit(self, one: Manifest) -> None:
        """Let somebody give the Pods of a suspended JobSet another node selector."""
        jobs = [on_other_nodes(child(job)) for job in items(one, "spec", "replicatedJobs")]
        spec = {**child(one, "spec"), "replicatedJobs": jobs}
        self.api.replace(JOBSETS, {"metadata": child(one, "metadata"), "spec": spec})

    def _garble(self, snapshot: Manifest) -> None:
        written = self.nature.dice.choice(GARBLED)
        data = {SNAPSHOT_KEY: written} if written else {}
        self.api.replace(CONFIGMAPS, {"metadata": child(snapshot, "metadata"), "data": data})
