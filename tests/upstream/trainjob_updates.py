"""What Trainer and we say of a change of a TrainJob's patches, beside what its JobSet says."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from hypothesis import strategies as st

from jobledger.adapters.kinds.trainjob.admission import VALIDATE_TRAINJOB, TrainJobAdmission
from jobledger.adapters.kinds.trainjob.plugins import trainjob_plugins
from jobledger.core.ports.cluster import JOBSETS, Cluster, Resource
from jobledger.core.trainjob.building.framework import Plugin
from jobledger.core.trainjob.building.validation import patches_of
from jobledger.core.values.instants import EPOCH
from tests.upstream.answers_file import read_lines, write_lines
from tests.upstream.changing import Document, patch, put
from tests.upstream.programs import Oracle
from tests.upstream.searching import Searched, smallest
from tests.upstream.trainjob_cases import NAMESPACE, job_on
from tests.upstream.trainjob_shapes import patches

FILE = Path(__file__).with_name("trainjob_updates.jsonl.gz")
RUNTIME = "torch-distributed"
SAID = ("id", "unreadable", "invalid")
"""What an answer says of a change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """One change of a TrainJob, beside what its JobSet says."""

    id: str
    old: Document
    new: Document
    runtime: Document
    active: Mapping[str, int] | None = None
    """Name of a replicatedJob -> its active Jobs; None where there is no JobSet."""


PLACED = patch({"nodeSelector": {"a": "1"}})
PATCHES: Mapping[str, Sequence[Document]] = {
    "none": (),
    "placed": (PLACED,),
    "placed-otherwise": (patch({"nodeSelector": {"a": "2"}}),),
    "empty-selector": (patch({"nodeSelector": {}}),),
    "empty-lists": (patch({"tolerations": [], "volumes": []}),),
    "empty-pod": (patch({}),),
    "empty-affinity": (patch({"affinity": {}}),),
    "nothing": ({"manager": "acme.io/test"},),
    "other-manager": ({**PLACED, "manager": "acme.io/other"},),
    "odd-manager": ({**PLACED, "manager": "acme"},),
    "two": (PLACED, {**PLACED, "manager": "acme.io/other"}),
    "two-turned": ({**PLACED, "manager": "acme.io/other"}, PLACED),
    "labels": (patch(metadata={"labels": {}, "annotations": {"a": "b"}}),),
    "labels-without-the-empty": (patch(metadata={"annotations": {"a": "b"}}),),
    "unknown-job": (patch({}, job="nobody"),),
    "env": (patch({"containers": [{"name": "node", "env": [{"name": "A", "value": "1"}]}]}),),
}
SUSPENDED: Mapping[str, tuple[bool | None, bool | None]] = {
    "runs": (False, False),
    "unset": (None, None),
    "suspends": (False, True),
    "resumes": (True, False),
    "stays": (True, True),
}
ACTIVE: Mapping[str, Mapping[str, int] | None] = {
    "no-jobset": None,
    "quiet": {"node": 0},
    "active": {"node": 1, "launcher": 0},
}


def updates(runtimes: Mapping[str, Document]) -> Iterator[Update]:
    """Yield every change: each list of patches to each, by who is suspended and what is active."""
    for suspended in SUSPENDED:
        for active in ACTIVE:
            for one in PATCHES:
                for other in PATCHES:
                    if "placed" in (one, other) or one == other or "empty" in one + other:
                        yield update_of(runtimes[RUNTIME], suspended, active, one, other)


def update_of(runtime: Document, suspended: str, active: str, one: str, other: str) -> Update:
    """Return one change, by the names of its parts."""
    before, after = SUSPENDED[suspended]
    return changed(
        f"{suspended}/{active}/{one}/{other}",
        runtime,
        (before, PATCHES[one]),
        (after, PATCHES[other]),
        ACTIVE[active],
    )


def changed(
    name: str,
    runtime: Document,
    before: tuple[bool | None, Sequence[Document]],
    after: tuple[bool | None, Sequence[Document]],
    active: Mapping[str, int] | None,
) -> Update:
    """Return a change from one `suspend` and list of patches to another."""
    jobs = []
    for suspend, given in (before, after):
        job = job_on(runtime)
        put("spec.suspend", suspend)(job)
        job["spec"]["runtimePatches"] = copy.deepcopy(list(given))
        jobs.append(job)
    return Update(id=name, old=jobs[0], new=jobs[1], runtime=runtime, active=active)


def jobset_of(update: Update) -> Document | None:
    """Return the JobSet that is there, with what it says of its Jobs."""
    if update.active is None:
        return None
    said = [
        {"name": name, "active": count, "ready": 0, "succeeded": 0, "failed": 0, "suspended": 0}
        for name, count in update.active.items()
    ]
    metadata = {"name": update.new["metadata"]["name"], "namespace": NAMESPACE}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": metadata,
        "spec": {"suspend": update.new["spec"].get("suspend") is True},
        "status": {"replicatedJobsStatus": said},
    }


def question(update: Update) -> dict[str, Any]:
    """Return a change as the oracle reads it."""
    there = [update.runtime, jobset_of(update)]
    return {
        "id": update.id,
        "trainJob": update.new,
        "old": update.old,
        "objects": [one for one in there if one is not None],
    }


KNOWN = "trainjob-kept-as-it-was"
"""The line of docs/differences.md by which changes are judged otherwise."""


def is_known(update: Update, answer: Mapping[str, Any]) -> bool:
    """Return whether Trainer refuses what was let in before, and is as it was."""
    old, new = patches_of(update.old), patches_of(update.new)
    return bool(answer.get("invalid")) and old == new and not refusal(update)


def found(update: Update, answer: Mapping[str, Any]) -> list[str]:
    """Return where our verdict on a change is another than Trainer's, without being listed."""
    if is_known(update, answer):
        return []
    theirs = [one for one in (answer.get("unreadable"), *answer.get("invalid", ())) if one]
    ours = refusal(update)
    if bool(theirs) == bool(ours):
        return []
    return [f"upstream {'; '.join(theirs) or 'lets it in'}, here {ours or 'it is let in'}"]


class _There:
    """The cluster in which a change is asked for: with the runtime, and perhaps the JobSet."""

    def __init__(self, update: Update) -> None:
        self._update = update

    def get(self, resource: Resource, namespace: str, name: str) -> Document | None:
        """Return an object; every case has one of each kind."""
        del namespace, name
        return jobset_of(self._update) if resource == JOBSETS else self._update.runtime


def refusal(update: Update) -> str:
    """Return why our webhook refuses a change; empty if it lets it in."""
    cluster = cast("Cluster", _There(update))
    webhooks = TrainJobAdmission(cluster=cluster, plugins=_plugins(), now=lambda: EPOCH)
    return webhooks.by_path()[VALIDATE_TRAINJOB](update.new, update.old).verdict.refusal


@cache
def _plugins() -> Sequence[Plugin]:
    """Return the plugins; all installed distributions are asked for some."""
    return trainjob_plugins()


def write(answers: Sequence[Mapping[str, Any]]) -> int:
    """Write the verdicts; return how many there are."""
    return write_lines(FILE, [{key: one[key] for key in SAID if key in one} for one in answers])


def read() -> dict[str, Any]:
    """Return the answers by the id of their case."""
    return {answer["id"]: answer for answer in read_lines(FILE)}


@st.composite
def generated(draw: st.DrawFn, runtimes: Mapping[str, Document]) -> Update:
    """Return a change between patches that are drawn; often they are nearly the same."""
    runtime = runtimes[draw(st.sampled_from(sorted(runtimes)))]
    suspends = st.sampled_from([None, False, True])
    before = draw(suspends), draw(patches)
    given = draw(st.one_of(st.just(before[1]), patches))
    after = draw(suspends), given
    active = draw(st.none() | st.dictionaries(st.just("node"), st.sampled_from([0, 1])))
    return changed("generated", runtime, before, after, active)


def search(upstream: Oracle, runtimes: Mapping[str, Any], count: int, number: int) -> Searched:
    """Return the smallest change on whose verdict we differ, among so many."""

    def told(update: Update) -> str:
        differs = found(update, upstream.ask(question(update)))
        shown = f"{update.old['spec']} ->\n  {update.new['spec']} beside {update.active}:\n  "
        return shown + "\n  ".join(differs) if differs else ""

    return smallest(generated(runtimes), told, count, number)
