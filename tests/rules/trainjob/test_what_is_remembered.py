"""What the state of a TrainJob keeps of what was done and seen, and what it lets go again."""

import pytest
from msgspec.structs import replace

from jobledger.core.jobs.control.went_back import GONE
from jobledger.core.jobs.observations import EffectEnded
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.trainjob.conditions import Condition
from jobledger.core.trainjob.observations import SeenTrainStatus, TrainJobObservation
from jobledger.core.trainjob.policy import TrainPolicy
from jobledger.core.trainjob.state import TrainJobState
from jobledger.core.values.documents import Json
from tests.support.contributions import plugin_told, pod_group_gone
from tests.support.trainjobs import (
    Played,
    Reply,
    Step,
    after,
    applied,
    counts,
    created,
    delete_refused,
    deleted,
    due,
    jobset,
    jobset_gone,
    manifest,
    not_built,
    not_created,
    play,
    running,
    runtime,
    seen,
    snapshot_gone,
)

RETRY = DecisionKind.EFFECT_RETRY
TOO_LATE = (*running(active_deadline_seconds=100), due(DecisionKind.ACTIVE_DEADLINE))


def open_effects(played: Played) -> list[str]:
    return [effect.desired.kind.value for effect in played.state.effects]


def pauses(played: Played) -> list[float]:
    """Return when what waits is tried again, in seconds after noon."""
    waits = [item for item in played.state.decisions if item.kind is RETRY]
    return [(item.due_at - after(0)).total_seconds() for item in waits]


def undone(times: int) -> list[Step]:
    """Return a job whose snapshot somebody deletes again and again, and it is made again."""
    story: list[Step] = [*created()]
    for number in range(times):
        gone = replace(snapshot_gone(10 + 10 * number), uid=f"snapshot-{number}")
        story += [gone, applied(11 + 10 * number)]
    return story


def test_what_is_made_again_and_again_waits_from_the_fourth_time_on() -> None:
    lost = replace(snapshot_gone(90), uid="the next")
    assert open_effects(play([*undone(2), lost])) == ["apply_objects"]
    waiting = play([*undone(3), lost])
    assert (open_effects(waiting), len(pauses(waiting))) == ([], 1)


def test_what_was_refused_before_it_was_done_does_not_count_any_more() -> None:
    again: list[Step] = [snapshot_gone(40), not_created(41)]
    assert pauses(play([*created(), *again])) == [51]
    before = [*seen(), not_created(1), due(RETRY), not_created(12), due(RETRY), applied(33)]
    assert pauses(play([*before, *again])) == [51], "the pause is the first again"


def test_what_goes_while_an_apply_fails_is_covered_by_the_next() -> None:
    story = [*seen(), snapshot_gone(0.5), not_created(1), due(RETRY)]
    assert open_effects(play(story)) == ["apply_objects"]
    over = play([*story, applied(12)])
    assert (open_effects(over), over.state.rebuild) == ([], False)


def test_a_runtime_that_the_failed_build_has_seen_does_not_lift_its_pause() -> None:
    """The watch of runtimes tells later than the build has asked for them."""
    failed = not_built(1, runtime_digest="runtime-2", may_pass=True)
    story = [*seen(), failed, not_built(2, runtime_digest="runtime-2", may_pass=True)]
    assert open_effects(play([*story, runtime("runtime-2", 3)])) == []
    assert open_effects(play([*story, runtime("runtime-3", 3)])) == ["apply_objects"]


PARTS = ["ConfigMap/train-runtime-snapshot", "Secret/x"]


@pytest.mark.parametrize("kind", ["ConfigMap", "ConfigMap.core"])
def test_a_part_that_went_is_not_looked_for_until_it_is_made_again(kind: str) -> None:
    story = [*seen(), with_details(applied(1), names=PARTS)]
    assert play(story).state.parts == tuple(PARTS)
    gone = replace(snapshot_gone(40), kind=kind)
    assert play([*story, gone]).state.parts == ("Secret/x",)


def with_details(step: Reply, **told: Json) -> Step:
    """Return an outcome that tells this as well."""

    def reply(state: TrainJobState) -> TrainJobObservation:
        ended = step(state)
        assert isinstance(ended, EffectEnded)
        return replace(ended, details={**ended.details, **told})

    return reply


def test_who_has_built_in_vain_is_known() -> None:
    """Another version of the plugins may build what failed for good."""
    built = play([*seen(), with_details(not_built(1), builder="v7")]).state.built
    assert built is not None
    assert (built.phase, built.builder) == ("JobsBuildFailed", "v7")


def test_a_jobset_that_goes_while_its_deletion_is_refused_is_not_deleted_any_more() -> None:
    waiting = play([*TOO_LATE, delete_refused()])
    assert len(pauses(waiting)) == 1
    over = play([*TOO_LATE, delete_refused(), jobset_gone(105)])
    assert (open_effects(over), pauses(over)) == ([], [])


def test_a_jobset_whose_deletion_was_asked_for_is_not_deleted_again_however_often_it_is_seen() -> (
    None
):
    looks = [jobset(102 + n, counts(active=1), restarts=n) for n in range(3)]
    assert open_effects(play([*TOO_LATE, deleted(), *looks])) == []


def test_a_jobset_that_is_on_its_way_out_is_not_suspended() -> None:
    leaving = jobset(30, counts(active=1), deleting=True)
    played = play([*running(), leaving, manifest(31, generation=2, suspend=True), applied(32)])
    assert open_effects(play([*running(), leaving])) == []
    assert open_effects(played) == []


def test_a_jobset_that_is_seen_again_is_no_longer_gone() -> None:
    """Etcd was restored from a backup: the same UID is there once more."""
    played = play([*running(), jobset_gone(30), replace(jobset(40), instead_of=GONE)])
    assert played.state.gone == ()


GANG = Condition(
    type="GangScheduled", is_true=False, reason="Unschedulable", message="", since=after(20)
)


def test_an_object_that_went_leaves_its_condition_unknown_and_tells_no_more() -> None:
    story = [
        *created(policy=TrainPolicy(propagates=True)),
        plugin_told(GANG),
        pod_group_gone(40, built=False),
    ]
    played = play(story)
    assert "GangScheduled=Unknown/ObjectGone" in played.conditions
    assert played.state.contributions == ()


def test_whose_specification_a_jobset_was_built_from_is_known_before_the_apply_is_told() -> None:
    """The watch may tell of a JobSet before the outcome of the apply that made or changed it."""
    made = [*seen(), jobset(1)]
    built = [play(story).state.jobset for story in (made, [*made, jobset(2, counts(active=1))])]
    assert [one.built_from for one in built if one is not None] == [1, 1]
    resumed = [*created(suspend=True), jobset(5, suspend=True), manifest(10, generation=2)]
    old = play([*resumed, jobset(11, suspend=True, restarts=1)]).state.jobset
    new = play([*resumed, jobset(11, generation=2)]).state.jobset
    assert [one.built_from for one in (old, new) if one is not None] == [1, 2]
    edited = play([*created(), jobset(10), jobset(11, generation=2)]).state.jobset
    assert edited is not None
    assert edited.built_from == 1, "somebody edited it, and nothing was applied"


def recorded(at: float, **more: object) -> Step:
    """Return a look at the job that another controller is to have from now on."""
    return manifest(at, recorded=WHY, **more)  # type: ignore[arg-type] # a spec


WHY = "this installation only records"


def test_what_waited_before_another_controller_had_the_job_does_not_wait_after_it() -> None:
    refused = [*seen(), not_created(1), recorded(2)]
    assert open_effects(play([*refused, manifest(3)])) == ["apply_objects"]
    again = [*undone(3), recorded(80), manifest(81)]
    lost = replace(snapshot_gone(90), uid="the next")
    assert open_effects(play([*again, lost])) == ["apply_objects"]


def test_what_was_built_here_is_not_built_again_when_control_is_taken_back() -> None:
    story = [*running(), recorded(30), manifest(31)]
    assert open_effects(play(story)) == []


def test_what_another_has_made_is_built_once_when_control_is_taken() -> None:
    """What the API server has already stays as it is; and the job counts as created by then."""
    played = play([recorded(0), jobset(5), manifest(10)])
    assert (open_effects(played), played.state.phase) == (["apply_objects"], "Created")


def test_a_job_of_which_nothing_was_made_is_made_when_control_is_taken() -> None:
    played = play([recorded(0), runtime(), manifest(10)])
    assert (open_effects(played), played.state.phase) == (["apply_objects"], "")


def test_counts_of_the_other_controller_count_until_the_jobset_tells_them_itself() -> None:
    status = SeenTrainStatus(jobs=(counts(active=7),))
    told = play([recorded(0), recorded(5, status=status)])
    assert ([one.active for one in told.state.jobs], told.state.shown_jobs) == ([7], True)
    assert told.state.created_once, "there are Jobs, so it was made"
    seen_first = play([recorded(0), jobset(3, counts(active=1)), recorded(5, status=status)])
    assert [one.active for one in seen_first.state.jobs] == [1]


def test_a_status_of_our_own_tells_of_no_other_controller() -> None:
    """A start asks first what another has done meanwhile; a status may as well be ours."""
    ours = play(running()).state.conditions
    between = replace(
        manifest(30, recorded=WHY, status=SeenTrainStatus(conditions=ours)), in_between=True
    )
    assert play([*running(), between]).said == []
    theirs = (*ours, replace(GANG, type="Complete", is_true=True, owner=""))
    between = replace(
        manifest(30, recorded=WHY, status=SeenTrainStatus(conditions=theirs)), in_between=True
    )
    assert play([*running(), between]).said[0] == "ControlReleased"
