"""In whose hands jobs are: what the service notices of other controllers, and what it then does."""

from datetime import timedelta
from typing import Any, cast

import pytest

from adapters.service.confirmations import Confirmations
from adapters.service.hands import FIRST_SIGHT, Hands
from adapters.service.inbox import Inbox
from adapters.service.live import LiveObjects
from adapters.service.preflight import look_for_others
from adapters.service.sightings import Door
from adapters.service.surroundings import Surroundings
from adapters.service.watching import JobListener
from core.errors import ClusterUnreachable, ObjectNotFound, RequestForbidden
from core.jobs.policy import Policy
from core.jobs.status_writers import other_controller
from core.jobs.whose import MANAGED_BY_JOBLEDGER, Control, Whose
from core.ports.clock import Clock
from core.ports.cluster import RAYJOBS, TRAINJOBS, Cluster, ObjectList, Resource
from core.rayjob.observations import ManifestSeen
from core.values.documents import Manifest
from core.values.instants import rfc3339
from tests.support.records import NOON

EARLY, LATE = rfc3339(NOON - timedelta(hours=3)), rfc3339(NOON)


def entry(manager: str, time: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"f:status": {"f:jobDeploymentStatus": {}, "f:conditions": {}}}
    return {"manager": manager, "subresource": "status", "time": time, "fieldsV1": fields}


def job(*writers: dict[str, Any], version: int = 1, phase: str = "Running") -> dict[str, Any]:
    return {
        "metadata": {
            "name": "train",
            "namespace": "ml",
            "uid": "uid-1",
            "resourceVersion": str(version),
            "generation": 1,
            "creationTimestamp": EARLY,
            "managedFields": list(writers),
        },
        "spec": {"entrypoint": "python train.py"},
        "status": {"jobDeploymentStatus": phase, "rayClusterName": "train-x", "jobId": "j"},
    }


THEIRS, OURS = entry("ray-operator", EARLY), entry("jobledger", EARLY)
THEIRS_NOW = entry("ray-operator", LATE)


class _Listed:
    """A cluster of which only lists are asked."""

    def __init__(self, *jobs: Manifest, error: Exception | None = None) -> None:
        self._jobs, self._error = jobs, error

    def list(self, resource: Resource, namespace: str = "") -> ObjectList:
        if self._error is not None:
            raise self._error
        if resource == TRAINJOBS:
            raise ObjectNotFound("trainjobs")
        del namespace
        return ObjectList(items=self._jobs, resource_version="1")


class _Noon:
    def now(self) -> object:
        return NOON


def look(hands: Hands, cluster: _Listed) -> None:
    kinds = ("RayJob", "TrainJob")
    look_for_others(cast("Cluster", cluster), hands, kinds, (), cast("Clock", _Noon()))


@pytest.mark.parametrize("kind", ["RayJob", "TrainJob"])
def test_what_another_cluster_works_on_says_nothing_of_this_ones_controllers(kind: str) -> None:
    """Kueue copies the status of such a job from the cluster that it runs in, again and again."""
    hands = Hands()
    far, later = (
        {**job(entry("kueue", at)), "spec": {"managedBy": "kueue.x-k8s.io/multikueue"}}
        for at in (EARLY, LATE)
    )
    assert hands.at_start(kind, far, NOON) is None
    hands.note(kind, later, other_controller(kind, far, NOON), NOON)
    assert hands.refusals() == []


def test_where_one_kind_may_not_be_listed_the_other_is_looked_at_all_the_same() -> None:
    """As where KubeRay is not installed and its part of the permissions was left out."""

    class _Guarded(_Listed):
        def list(self, resource: Resource, namespace: str = "") -> ObjectList:
            if resource == RAYJOBS:
                raise RequestForbidden("rayjobs is forbidden")
            del namespace
            return ObjectList(items=(theirs,), resource_version="1")

    hands = Hands()
    theirs = {**job(THEIRS), "status": {"conditions": [{"type": "Created", "status": "True"}]}}
    look(hands, _Guarded())
    assert hands.why_recorded("TrainJob", theirs) != ""


def test_a_namespace_is_only_recorded_where_another_drives_a_job_at_the_start() -> None:
    """Every job of it from the first on; other namespaces and kinds are controlled."""
    hands = Hands()
    look(hands, _Listed(job(THEIRS)))
    words = "the status of RayJob ml/train was written by ray-operator"
    assert words in hands.why_recorded("RayJob", job())
    elsewhere = {**job(), "metadata": {"name": "train", "namespace": "elsewhere"}}
    assert hands.why_recorded("RayJob", elsewhere) == ""
    assert hands.why_recorded("TrainJob", job()) == ""


@pytest.mark.parametrize("kind", ["RayJob", "TrainJob"])
@pytest.mark.parametrize("at", [EARLY, LATE, "2099-01-01T00:00:00Z"])
def test_what_an_author_writes_of_the_writers_counts_for_nothing(kind: str, at: str) -> None:
    """The status is the one that was written here, or there is none: at the start and later."""
    ours = {**job(entry("ray-operator", at))}
    ours["status"]["conditions"] = [{"type": "Created", "status": "True"}]
    unwritten = {**ours, "status": {}}
    hands = Hands()
    hands.is_own = lambda _, shown: shown["status"] == ours["status"]
    for forged in (ours, unwritten):
        for before in (FIRST_SIGHT, None):
            assert hands.note(kind, forged, before, NOON) is None
    assert hands.refusals() == []


@pytest.mark.parametrize(
    ("hands", "cluster"),
    [
        (Hands(), _Listed(job(OURS))),
        (Hands(), _Listed(job())),
        (Hands(), _Listed(job(THEIRS, phase="Complete"))),
        (Hands(take_over=True), _Listed(job(THEIRS))),
        (Hands(Whose(control=Control.NOTHING)), _Listed(job(THEIRS))),
        (Hands(Whose(control=Control.MANAGED_BY)), _Listed(job(THEIRS))),
        (Hands(), _Listed(error=ClusterUnreachable("nobody there"))),
    ],
    ids=["ours", "nobody's", "ended long ago", "take over", "recorder", "not to control", "down"],
)
def test_a_start_refuses_nothing_where_nobody_is_to_be_feared(
    hands: Hands, cluster: _Listed
) -> None:
    look(hands, cluster)
    assert hands.refusals() == []


def seen_by(hands: Hands) -> tuple[JobListener, Inbox, LiveObjects]:
    door = Door(cluster="kind", policy=Policy(), redaction_key=b"k" * 32, hands=hands)
    inbox, live = Inbox(), LiveObjects()
    around = Surroundings(door, inbox, live, Confirmations(), lambda _: None)
    return JobListener(around), inbox, live


def taken(inbox: Inbox) -> list[str]:
    """Return why each sighting that came in says that the job is only recorded."""
    arrivals = inbox.take(100, 0)
    return [item.recorded for _, item in arrivals if isinstance(item, ManifestSeen)]


def test_a_later_write_of_another_ends_control_of_the_namespace() -> None:
    told: list[tuple[str, str]] = []
    hands = Hands(refused=lambda *where: told.append(where))
    listener, inbox, _ = seen_by(hands)
    listener.seen(job(OURS), NOON)
    assert taken(inbox) == [""]
    listener.seen(job(THEIRS_NOW, version=2), NOON)
    (because,) = taken(inbox)
    assert "was written by ray-operator" in because
    assert told == [("RayJob", "ml")]
    assert [item.job for item in hands.refusals()] == ["train"]
    assert [item.job for item in hands.take_new()] == ["train"]
    assert hands.take_new() == [], "each is taken once"


def test_what_was_taken_over_is_not_refused_for_what_was_written_before() -> None:
    hands = Hands(take_over=True)
    listener, inbox, live = seen_by(hands)
    listener.seen(job(THEIRS), NOON)
    listener.seen(job(OURS, version=2), NOON)
    listener.seen(job(THEIRS, version=3), NOON)
    first, *others = taken(inbox)
    assert first == f"ray-operator wrote its status at {EARLY}", "so is what it did meanwhile"
    assert set(others) == {""}
    assert hands.refusals() == []
    known = live.job("uid-1")
    assert known is not None
    assert known.others is not None, "a late look at the old version is no news either"


def test_a_write_that_one_of_ours_has_followed_is_noticed_all_the_same() -> None:
    hands = Hands()
    listener, _, live = seen_by(hands)
    listener.seen(job(OURS), NOON)
    live.note_version("uid-1", "9")  # our own write was answered before the watch told of theirs
    listener.seen(job(THEIRS_NOW, version=5), NOON)
    assert [item.manager for item in hands.refusals()] == ["ray-operator"]


def test_a_recorded_job_is_told_again_whenever_its_status_changes() -> None:
    listener, inbox, _ = seen_by(Hands(Whose(control=Control.NOTHING)))
    listener.seen(job(THEIRS), NOON)
    listener.seen(job(THEIRS, version=2), NOON)
    listener.seen(job(THEIRS, version=3, phase="Complete"), NOON)
    assert len(taken(inbox)) == 2, "the second look brought nothing"


def test_first_sight_is_judged_as_a_start() -> None:
    hands = Hands()
    hands.note("RayJob", job(THEIRS), FIRST_SIGHT, NOON)
    assert hands.refusals() != []


def test_what_was_written_before_a_job_was_handed_over_is_no_reason_to_refuse() -> None:
    hands = Hands(Whose(control=Control.MANAGED_BY))
    handed_over = job(THEIRS_NOW, version=3)
    handed_over["spec"]["managedBy"] = MANAGED_BY_JOBLEDGER
    hands.note("RayJob", handed_over, FIRST_SIGHT, NOON)  # the first since it was only recorded
    assert hands.refusals() == []
    hands.note("RayJob", handed_over, other_controller("RayJob", job(THEIRS), NOON), NOON)
    assert [item.manager for item in hands.refusals()] == ["ray-operator"]
