"""In whose hands jobs are: what the service notices of other controllers, and what it then does."""

from datetime import timedelta
from typing import Any

import pytest

from jobledger.adapters.service.control.control_policy import FIRST_SIGHT, ControlPolicy
from jobledger.adapters.service.objects.object_cache import ObjectCache
from jobledger.adapters.service.observing.confirmations import Confirmations
from jobledger.adapters.service.observing.mapper import ObservationMapper
from jobledger.adapters.service.resync.control_release import is_met_everywhere
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.adapters.service.watches.job_listener import JobListener
from jobledger.adapters.service.work.inbox import Inbox
from jobledger.core.jobs.control.control_policy import MANAGED_BY_JOBLEDGER, Control, ControlScope
from jobledger.core.jobs.control.status_writers import other_controller
from jobledger.core.jobs.policy import Policy
from jobledger.core.kinds import KINDS
from jobledger.core.rayjob.observations.observations import ManifestSeen
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import SHARDS
from jobledger.core.values.instants import rfc3339
from tests.support.plugged import watchings
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


@pytest.mark.parametrize("kind", ["RayJob", "TrainJob"])
def test_what_another_cluster_works_on_says_nothing_of_this_ones_controllers(kind: str) -> None:
    """Kueue copies the status of such a job from the cluster that it runs in, again and again."""
    control_policy = ControlPolicy()
    far, later = (
        {**job(entry("kueue", at)), "spec": {"managedBy": "kueue.x-k8s.io/multikueue"}}
        for at in (EARLY, LATE)
    )
    assert control_policy.at_start(kind, far, NOON) is None
    control_policy.note(kind, later, other_controller(KINDS[kind].controller, far, NOON), NOON)
    assert control_policy.refusals() == []


def test_of_jobs_that_name_another_the_log_is_not_asked_at_the_start() -> None:
    """As every batch Job that Kubernetes' own controller runs: there may be thousands."""
    asked: list[str] = []
    control_policy = ControlPolicy()

    def is_own(kind: str, manifest: Manifest) -> bool:
        del manifest
        asked.append(kind)
        return False

    control_policy.is_own = is_own
    theirs = {**job(THEIRS), "spec": {"managedBy": "kueue.x-k8s.io/multikueue"}}
    control_policy.at_start("RayJob", theirs, NOON)
    assert asked == []
    control_policy.at_start("RayJob", job(THEIRS), NOON)
    assert asked == ["RayJob"]


def test_a_namespace_is_only_recorded_where_another_drives_a_job_at_the_start() -> None:
    """Every job of it from the first on; other namespaces and kinds are controlled."""
    control_policy = ControlPolicy()
    look(control_policy, job(THEIRS))
    words = "the status of RayJob ml/train was written by ray-operator"
    assert words in control_policy.why_recorded("RayJob", job())
    elsewhere = {**job(), "metadata": {"name": "train", "namespace": "elsewhere"}}
    assert control_policy.why_recorded("RayJob", elsewhere) == ""
    assert control_policy.why_recorded("TrainJob", job()) == ""


def test_what_was_listed_before_another_was_met_is_only_recorded_from_the_first_on() -> None:
    """Nothing is decided before everything is listed: the log says no other thing of such a job."""
    listener, inbox, live = seen_by(ControlPolicy())
    inbox.hold_back(range(SHARDS))
    writers = (("ml", OURS), ("a", OURS), ("ml", THEIRS))
    listed = [job(writer) for _, writer in writers]
    for number, (namespace, _) in enumerate(writers):
        named = {"uid": f"uid-{number}", "name": f"j{number}", "namespace": namespace}
        listed[number]["metadata"] |= named
        listener.seen(listed[number], NOON)
    listener.synced(NOON)
    inbox.hold_back(())
    sightings = [item for _, item in inbox.take(100, 0) if isinstance(item, ManifestSeen)]
    recorded = {item.identity.name: bool(item.recorded) for item in sightings}
    assert recorded == {"j0": True, "j1": False, "j2": True}
    assert len(sightings) == len(recorded), "each is told once"
    assert {one.identity.name: bool(one.recorded) for one in live.jobs()} == recorded
    listener.seen(listed[0], NOON)
    assert not inbox.take(100, 0), "it is no news"


def test_what_was_listed_before_shards_were_held_counts_as_recorded_where_another_was_met() -> None:
    """It is kept as controlled until it is looked at, but nothing is done about it."""
    control_policy = ControlPolicy()
    listener, _, live = seen_by(control_policy)
    mine, theirs = job(OURS), job(THEIRS)
    mine["metadata"] |= {"uid": "uid-0", "name": "another"}
    listener.seen(mine, NOON)
    assert not is_met_everywhere(control_policy, live)
    listener.seen(theirs, NOON)
    listener.synced(NOON)
    assert is_met_everywhere(control_policy, live)
    elsewhere = job(OURS)
    elsewhere["metadata"] |= {"uid": "uid-2", "namespace": "elsewhere"}
    listener.seen(elsewhere, NOON)
    assert not is_met_everywhere(control_policy, live)


@pytest.mark.parametrize("kind", ["RayJob", "TrainJob"])
@pytest.mark.parametrize("at", [EARLY, LATE, "2099-01-01T00:00:00Z"])
def test_what_an_author_writes_of_the_writers_counts_for_nothing(kind: str, at: str) -> None:
    """The status is the one that was written here, or there is none: at the start and later."""
    ours = {**job(entry("ray-operator", at))}
    ours["status"]["conditions"] = [{"type": "Created", "status": "True"}]
    unwritten = {**ours, "status": {}}
    control_policy = ControlPolicy()
    control_policy.is_own = lambda _, shown: shown["status"] == ours["status"]
    for forged in (ours, unwritten):
        for before in (FIRST_SIGHT, None):
            assert control_policy.note(kind, forged, before, NOON) is None
    assert control_policy.refusals() == []


@pytest.mark.parametrize(
    ("control_policy", "listed"),
    [
        (ControlPolicy(), job(OURS)),
        (ControlPolicy(), job()),
        (ControlPolicy(), job(THEIRS, phase="Complete")),
        (ControlPolicy(take_over=True), job(THEIRS)),
        (ControlPolicy(ControlScope(control=Control.NOTHING)), job(THEIRS)),
        (ControlPolicy(ControlScope(control=Control.MANAGED_BY)), job(THEIRS)),
    ],
    ids=["ours", "nobody's", "ended long ago", "take over", "recorder", "not to control"],
)
def test_a_start_refuses_nothing_where_nobody_is_to_be_feared(
    control_policy: ControlPolicy, listed: Manifest
) -> None:
    look(control_policy, listed)
    assert control_policy.refusals() == []


def seen_by(control_policy: ControlPolicy) -> tuple[JobListener, Inbox, ObjectCache]:
    mapper = ObservationMapper(
        cluster="kind", policy=Policy(), redaction_key=b"k" * 32, control_policy=control_policy
    )
    inbox, live = Inbox(), ObjectCache()
    around = EventHandlers(mapper, inbox, live, Confirmations(), watchings(), lambda _: None)
    return JobListener(around, "RayJob"), inbox, live


def look(control_policy: ControlPolicy, listed: Manifest) -> None:
    listener, _, _ = seen_by(control_policy)
    listener.seen(listed, NOON)
    listener.synced(NOON)


def taken(inbox: Inbox) -> list[str]:
    """Return why each sighting that came in says that the job is only recorded."""
    arrivals = inbox.take(100, 0)
    return [item.recorded for _, item in arrivals if isinstance(item, ManifestSeen)]


def test_a_later_write_of_another_ends_control_of_the_namespace() -> None:
    told: list[tuple[str, str]] = []
    control_policy = ControlPolicy(refused=lambda *where: told.append(where))
    listener, inbox, _ = seen_by(control_policy)
    listener.seen(job(OURS), NOON)
    assert taken(inbox) == [""]
    listener.seen(job(THEIRS_NOW, version=2), NOON)
    (because,) = taken(inbox)
    assert "was written by ray-operator" in because
    assert told == [("RayJob", "ml")]
    assert [item.job for item in control_policy.refusals()] == ["train"]
    assert [item.job for item in control_policy.take_new()] == ["train"]
    assert control_policy.take_new() == [], "each is taken once"


def test_what_was_taken_over_is_not_refused_for_what_was_written_before() -> None:
    control_policy = ControlPolicy(take_over=True)
    listener, inbox, live = seen_by(control_policy)
    listener.seen(job(THEIRS), NOON)
    listener.seen(job(OURS, version=2), NOON)
    listener.seen(job(THEIRS, version=3), NOON)
    first, *others = taken(inbox)
    assert first == f"ray-operator wrote its status at {EARLY}", "so is what it did meanwhile"
    assert set(others) == {""}
    assert control_policy.refusals() == []
    known = live.job("uid-1")
    assert known is not None
    assert known.others is not None, "a late look at the old version is no news either"


def test_a_write_that_one_of_ours_has_followed_is_noticed_all_the_same() -> None:
    control_policy = ControlPolicy()
    listener, _, live = seen_by(control_policy)
    listener.seen(job(OURS), NOON)
    live.note_version("uid-1", "9")  # our own write was answered before the watch told of theirs
    listener.seen(job(THEIRS_NOW, version=5), NOON)
    assert [item.manager for item in control_policy.refusals()] == ["ray-operator"]


def test_a_recorded_job_is_told_again_whenever_its_status_changes() -> None:
    listener, inbox, _ = seen_by(ControlPolicy(ControlScope(control=Control.NOTHING)))
    listener.seen(job(THEIRS), NOON)
    listener.seen(job(THEIRS, version=2), NOON)
    listener.seen(job(THEIRS, version=3, phase="Complete"), NOON)
    assert len(taken(inbox)) == 2, "the second look brought nothing"


def test_first_sight_is_judged_as_a_start() -> None:
    control_policy = ControlPolicy()
    control_policy.note("RayJob", job(THEIRS), FIRST_SIGHT, NOON)
    assert control_policy.refusals() != []


def test_what_was_written_before_a_job_was_handed_over_is_no_reason_to_refuse() -> None:
    control_policy = ControlPolicy(ControlScope(control=Control.MANAGED_BY))
    handed_over = job(THEIRS_NOW, version=3)
    handed_over["spec"]["managedBy"] = MANAGED_BY_JOBLEDGER
    control_policy.note(
        "RayJob", handed_over, FIRST_SIGHT, NOON
    )  # the first since it was only recorded
    assert control_policy.refusals() == []
    control_policy.note(
        "RayJob", handed_over, other_controller(KINDS["RayJob"].controller, job(THEIRS), NOON), NOON
    )
    assert [item.manager for item in control_policy.refusals()] == ["ray-operator"]
