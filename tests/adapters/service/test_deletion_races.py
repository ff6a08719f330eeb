"""A job, what is made of it, or its namespace is deleted just when something is done about it.

For both kinds of job: nothing of another job of its name is deleted, nothing more is made, the
finalizer goes, and the log says what happened in few events.
"""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from jobledger.core.errors import ClusterUnreachable, ObjectChanged, RequestForbidden
from jobledger.core.ports.cluster import JOBSETS, RAYJOBS, Propagation, Resource
from jobledger.core.values.documents import Manifest, items, text
from tests.adapters.service.races import (
    EVENTS_MAX,
    FOREIGN,
    KINDS,
    REFUSED_EVENTS_MAX,
    TRIES_MAX,
    begun,
    just_before,
    keep,
    kinds,
    let_go,
    take_away,
    uid_of,
)


@kinds
@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_deleted_between_look_and_act(kind: str, propagation: Propagation) -> None:
    race = begun(kind, until_it_runs=False)
    plural = race.runs_on.plural
    for method in ("create", "apply"):
        just_before(race, method, lambda: race.delete(propagation), plural)
    race.rest()
    assert race.how_often_made() <= 1, "it was on its way"
    race.assert_over()


@kinds
def test_deleted_while_what_ran_is_on_its_way_out_to_be_made_again(kind: str) -> None:
    """Retrying with the old RayCluster still there; a JobSet that somebody deleted."""
    race = begun(kind, backoffLimit=3)
    keep(race, *race.there())
    if kind == "TrainJob":
        race.world.cluster.delete(JOBSETS, "ml", "train")
    else:
        race.world.exit_codes.extend([1] * 4)
        race.world.plane.holds = False
    race.rest(30)
    if kind != "TrainJob":
        assert race.world.phase("train") == "Retrying"
    before = race.made()
    race.delete()
    race.rest(60)
    assert race.made() == before
    let_go(race, *race.there())
    race.rest(10)
    assert race.made() == before
    race.assert_over()


@kinds
@pytest.mark.parametrize("kept", [False, True], ids=["", "kept by a finalizer of others"])
def test_deleted_while_the_finalizer_is_added(kind: str, *, kept: bool) -> None:
    """Of a TrainJob, which has none: before its first apply."""
    race = begun(kind, until_it_runs=False)
    if kept:
        keep(race, race.job)
    race.world.cluster.writes.clear()
    for method in ("merge_patch", "apply"):
        just_before(race, method, race.delete, "rayjobs", "configmaps")
    race.rest(60)
    if kept:
        assert items(race.job, "metadata", "finalizers") == [FOREIGN]
        assert len(race.told) <= EVENTS_MAX
        let_go(race, race.job)
        race.rest(10)
    assert race.how_often_made() <= (kind == "TrainJob")
    race.assert_over()


@kinds
def test_nothing_is_made_again_for_a_job_on_its_way_out(kind: str) -> None:
    race = begun(kind, backoffLimit=3)
    keep(race, race.job)
    race.delete()
    race.rest(10)
    before = race.made()
    for one in race.there():
        race.world.cluster.delete(race.runs_on, "ml", text(one, "metadata", "name"))
    race.rest(120)
    race.world.restart()
    race.rest(60)
    assert race.made() == before
    let_go(race, race.job)
    race.rest(10)
    race.assert_over()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "TrainJob"])
def test_a_finalizer_that_others_add_while_ours_is_added_stays(kind: str) -> None:
    """A merge patch replaces the whole list, so it is of the very version that was looked at."""
    race = begun(kind, until_it_runs=False)
    just_before(race, "merge_patch", lambda: keep(race, race.job), "rayjobs")
    race.rest(10)
    found = items(race.job, "metadata", "finalizers")
    assert len(found) == 2
    assert FOREIGN in found


@kinds
@pytest.mark.parametrize("goes", [True, False], ids=["a finalizer goes", "a label comes"])
def test_others_change_the_job_while_its_finalizer_is_removed(kind: str, *, goes: bool) -> None:
    """A TrainJob has none of ours; it is told as leaving as long as others keep it."""
    race = begun(kind)
    keep(race, race.job)

    def happens() -> None:
        labelled: Manifest = {"metadata": {"labels": {"a": "b"}}}
        if goes:
            let_go(race, race.job)
        else:
            race.world.cluster.patch_as("somebody", RAYJOBS, "ml", "train", labelled)

    just_before(race, "merge_patch", happens, "rayjobs")
    race.delete()
    race.rest(60)
    if not goes or kind == "TrainJob":
        assert items(race.job, "metadata", "finalizers") == [FOREIGN]
        let_go(race, race.job)
        race.rest(10)
    race.assert_over()


@kinds
@pytest.mark.parametrize("begin", [True, False], ids=["while it runs", "while it begins"])
def test_another_of_its_name_keeps_what_is_its_own(kind: str, *, begin: bool) -> None:
    """It is made while effects of the old one are under way, and runs to its end."""
    race = begun(kind, until_it_runs=begin)
    old = text(race.job, "metadata", "uid")

    def replaced() -> None:
        take_away(race)
        race.create()

    if begin:
        replaced()
    else:
        for method in ("create", "apply"):
            just_before(race, method, replaced, race.runs_on.plural)
    race.rest(20)
    new = text(race.job, "metadata", "uid")
    assert new not in ("", old)
    race.rest(120)
    race.world.run(race.runs, "the new one to run")
    (running,) = race.there()
    assert text(items(running, "metadata", "ownerReferences")[0], "uid") == new
    race.world.plane.holds = race.world.jobsets.holds = False
    race.world.run(race.ended, "the new one to end")
    assert [text(one, "metadata", "uid") for one in race.there()] == [
        text(running, "metadata", "uid")
    ]
    race.assert_told()


@kinds
def test_a_deletion_that_arrives_late_takes_nothing_of_another_of_its_name(kind: str) -> None:
    race = begun(kind, activeDeadlineSeconds=30, shutdownAfterJobFinishes=True)
    cluster = race.world.cluster
    late: list[Callable[[], None]] = []

    def lost(resource: Resource, *args: str, **kwargs: Any) -> None:  # noqa: ANN401 any request
        if resource != race.runs_on:
            return delete(resource, *args, **kwargs)
        late.append(lambda: delete(resource, *args, **kwargs))
        raise ClusterUnreachable("no answer in time")

    delete = cluster.delete
    cluster.delete = lost  # type: ignore[method-assign]  # on its way for long
    race.rest(60)
    assert late
    cluster.delete = delete  # type: ignore[method-assign]  # the next ones arrive
    take_away(race)
    del race.spec["activeDeadlineSeconds"]
    race.create()
    race.rest(10)
    (running,) = race.there()
    for request in late:
        with contextlib.suppress(ObjectChanged):
            request()
    race.rest(10)
    assert [uid_of(one) for one in race.there()] == [uid_of(running)]
    race.assert_told()


@kinds
@pytest.mark.parametrize("propagation", ["Foreground", "Orphan"])
def test_deleted_in_the_foreground_or_leaving_what_runs(
    kind: str, propagation: Propagation
) -> None:
    race = begun(kind)
    keep(race, *race.there())
    before = race.made()
    race.delete(propagation)
    race.rest(60)
    assert race.made() == before
    assert len(race.there()) == 1
    let_go(race, *race.there())
    race.rest(10)
    assert race.made() == before
    if propagation == "Orphan":  # it was asked for: it is nobody's now
        (left,) = race.there()
        assert not items(left, "metadata", "ownerReferences")
        race.world.cluster.delete(race.runs_on, "ml", text(left, "metadata", "name"))
        race.rest()
    race.assert_over()


@kinds
def test_what_it_runs_on_is_deleted_and_kept_by_a_finalizer_of_others(kind: str) -> None:
    race = begun(kind, backoffLimit=1)
    (before,) = race.there()
    keep(race, before)
    race.world.cluster.delete(race.runs_on, "ml", text(before, "metadata", "name"))
    race.rest(600)
    assert [text(one, "metadata", "uid") for one in race.there()] == [uid_of(before)]
    assert len(race.told) <= EVENTS_MAX
    let_go(race, *race.there())
    race.world.run(lambda: race.there() != [] and race.runs(), "another to be made")
    (after,) = race.there()
    assert uid_of(after) != uid_of(before)
    race.delete()
    race.rest(10)
    race.assert_over()


@kinds
@pytest.mark.parametrize("runs", [True, False], ids=["while it runs", "while it begins"])
def test_its_namespace_is_on_its_way_out(
    kind: str, monkeypatch: pytest.MonkeyPatch, *, runs: bool
) -> None:
    """Nothing can be made there any more; what is there goes, at last the job."""
    race = begun(kind, until_it_runs=runs, backoffLimit=3)

    def refused(resource: Resource, *_: Any, **how: Any) -> Any:  # noqa: ANN401 any answer
        if how.get("subresource"):
            return apply(resource, *_, **how)
        tries.append(race.world.clock.monotonic())
        raise RequestForbidden(
            f"{resource.plural} is forbidden: unable to create new content in namespace ml "
            "because it is being terminated"
        )

    tries: list[float] = []
    apply = race.world.cluster.apply
    for method in ("create", "apply"):
        monkeypatch.setattr(race.world.cluster, method, refused)
    before = race.made()
    race.rest(10)
    for item in race.there():
        race.world.cluster.delete(race.runs_on, "ml", text(item, "metadata", "name"))
    race.rest(900)
    assert len(race.told) <= REFUSED_EVENTS_MAX
    assert len(tries) <= TRIES_MAX
    race.delete()
    race.rest(10)
    assert race.made() == before
    race.assert_over(REFUSED_EVENTS_MAX)
