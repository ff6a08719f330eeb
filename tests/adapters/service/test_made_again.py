"""Nothing is made again for a job that is gone, though its watch has not told so yet."""

import pytest

from jobledger.adapters.kinds.rayjob.acting import effects
from jobledger.adapters.service.effects.context import World, wait_if_gone
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.core.errors import ObjectChanged
from jobledger.core.ports.cluster import JOBSETS, RAYCLUSTERS, RAYJOBS, TRAINJOBS, Resource
from jobledger.core.values.documents import Manifest, child, text
from tests.adapters.service.parts import Bench, a_rayjob
from tests.adapters.service.races import begun, keep, kinds, let_go
from tests.adapters.service.stories import HTTP, K8S, is_over
from tests.support.service_world import ServiceWorld
from tests.support.train_world import TrainWorld


def world_of(bench: Bench) -> World:
    return bench.context().world


def test_for_a_job_that_is_there_it_is_made() -> None:
    bench = Bench()
    wait_if_gone(world_of(bench), bench.job(), RAYJOBS)


@pytest.mark.parametrize("again", [False, True], ids=["gone", "made anew under its name"])
def test_for_one_that_is_gone_it_is_not(again: bool) -> None:
    bench = Bench()
    job = bench.job()
    bench.cluster.delete(RAYJOBS, "ml", "train", uid=job.identity.uid)
    if again:
        bench.cluster.create(RAYJOBS, a_rayjob())
    with pytest.raises(ObjectChanged, match="RayJob ml/train is gone"):
        wait_if_gone(world_of(bench), job, RAYJOBS)


def test_for_one_that_is_being_deleted_it_is_not_until_its_watch_has_told_so() -> None:
    bench = Bench()
    job = bench.job()
    patch: Manifest = {"metadata": {"finalizers": ["example.com/keeps"]}}
    bench.cluster.patch_as("somebody", RAYJOBS, "ml", "train", patch)
    bench.cluster.delete(RAYJOBS, "ml", "train", uid=job.identity.uid)
    with pytest.raises(ObjectChanged, match="RayJob ml/train is being deleted"):
        wait_if_gone(world_of(bench), job, RAYJOBS)
    going = bench.cluster.get(RAYJOBS, "ml", "train")
    assert going is not None
    wait_if_gone(world_of(bench), bench.see(going), RAYJOBS)


@kinds
def test_what_a_deletion_in_the_foreground_takes_first_is_not_made_again(kind: str) -> None:
    race = begun(kind, backoffLimit=3)
    before = race.how_often_made()
    keep(race, race.job)
    told = race.world.cluster.hold_back(race.resource)
    race.delete()
    for one in race.there():
        race.world.cluster.delete(race.runs_on, "ml", text(one, "metadata", "name"))
    race.rest(60)
    assert race.how_often_made() == before
    told()
    race.rest(60)
    let_go(race, race.job)
    race.rest(10)
    assert race.how_often_made() == before
    race.assert_over()


def test_a_jobset_that_goes_with_its_job_is_not_made_again() -> None:
    """The JobSet's watch tells first: to the rules it looks like a JobSet that somebody deleted."""
    world = TrainWorld()
    world.install_runtime()
    world.jobsets.holds = True
    stream = world.train()
    world.run(lambda: "TrainAttemptStarted" in world.told(stream), "the job to run")
    held = world.cluster.hold_back(TRAINJOBS)
    identity = child(world.trainjob, "metadata")
    world.cluster.delete(TRAINJOBS, "ml", text(identity, "name"), uid=text(identity, "uid"))
    jobset = child(world.jobset, "metadata")
    world.cluster.delete(JOBSETS, "ml", text(jobset, "name"), uid=text(jobset, "uid"))
    world.run(lambda: "EffectFaltered" in world.told(stream), "it to be tried")
    assert world.cluster.list(JOBSETS).items == []
    held()
    world.run(lambda: "TrainJobDeleted" in world.told(stream), "that the job is gone")
    world.clock.advance(3600)
    world.run(lambda: True, "nothing to be left to do")
    assert world.cluster.list(JOBSETS).items == []


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the RayJobs that were asked for before something was made again."""
    names: list[str] = []

    def asks(world: World, job: CachedJob, resource: Resource) -> None:
        names.append(job.identity.name)
        wait_if_gone(world, job, resource)

    monkeypatch.setattr(effects, "wait_if_gone", asks)
    return names


@pytest.mark.parametrize("mode", [HTTP, K8S])
def test_a_retry_does_not_ask_for_the_job(asked: list[str], mode: str) -> None:
    """What is made again was asked to go here: it says nothing of the job."""
    world = ServiceWorld(exit_codes=[1, 1, 0])
    manifest = a_rayjob(submissionMode=mode, backoffLimit=2, shutdownAfterJobFinishes=True)
    stream = world.create(manifest)
    world.run(lambda: is_over(world, stream), "the job to be over")
    assert child(world.job("train"), "status").get("failed") == 2  # its failures
    assert asked == []


@pytest.mark.parametrize("mode", [HTTP, K8S])
@pytest.mark.parametrize("lingers", [False, True], ids=["gone at once", "going for a while"])
def test_after_a_loss_what_is_made_again_is_made_after_asking_for_the_job(
    asked: list[str], mode: str, lingers: bool
) -> None:
    world = ServiceWorld()
    world.plane.holds = True
    world.create(a_rayjob(submissionMode=mode, backoffLimit=2))
    world.run(lambda: world.phase("train") == "Running", "the job to run")
    made = text(child(world.job("train"), "status"), "rayClusterName")
    keeps: Manifest = {"metadata": {"finalizers": ["example.com/keeps"]}}
    lets_go: Manifest = {"metadata": {"finalizers": None}}
    world.cluster.patch_as("somebody", RAYCLUSTERS, "ml", made, keeps if lingers else lets_go)
    world.cluster.delete(RAYCLUSTERS, "ml", made)
    world.run(lambda: True, "its watch to have told")
    if lingers:
        world.cluster.patch_as("somebody", RAYCLUSTERS, "ml", made, lets_go)
    again = "its RayCluster to be made again"
    world.run(lambda: child(world.job("train"), "status").get("failed") == 1, "the attempt to fail")
    world.run(lambda: len(world.cluster.peek(RAYCLUSTERS)) == 1, again)
    assert asked
