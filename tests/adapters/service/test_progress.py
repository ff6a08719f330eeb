"""What Pods of a TrainJob report reaches the log: whole, now and then, and harmless."""

from datetime import timedelta

from jobledger.core.catalogue import read_event
from jobledger.core.jobs.history.progress import Metric
from jobledger.core.ports.cluster import TRAINJOBS
from jobledger.core.trainjob.events import TrainerProgressReported
from jobledger.core.trainjob.progress import METRICS_MAX, WRITTEN_DOWN_EVERY
from jobledger.core.values.documents import child
from jobledger.core.values.ids import StreamId
from tests.support.train_world import TrainWorld

WHEN = "2026-11-21T12:00:00Z"
A_WHILE = (WRITTEN_DOWN_EVERY + timedelta(seconds=1)).total_seconds()


def training() -> tuple[TrainWorld, StreamId]:
    """Return a world whose job runs until somebody lets it end."""
    world = TrainWorld()
    world.install_runtime()
    world.jobsets.holds = True
    stream = world.train()
    world.run(world.is_so("Created"), "the objects")
    return world, stream


def report(world: TrainWorld, **trainer_status: object) -> None:
    """Have the status show a report, as the status server writes it."""
    before = child(world.trainjob, "status")
    shown = {"lastUpdatedTime": WHEN, **trainer_status}
    world.cluster.edit(TRAINJOBS, "ml", "train", status={**before, "trainerStatus": shown})


def reports(world: TrainWorld, stream: StreamId) -> list[TrainerProgressReported]:
    """Return the events about progress."""
    found = (read_event(item.record) for item in world.store.read_stream(stream))
    return [event for event in found if isinstance(event, TrainerProgressReported)]


def has(world: TrainWorld, stream: StreamId, count: int) -> None:
    """Let the service work until the log has so many events about progress."""
    world.run(lambda: len(reports(world, stream)) == count, f"{count} events")


def test_a_report_is_in_the_log_as_the_status_shows_it() -> None:
    world, stream = training()
    metrics = [{"name": "loss", "value": "0.25"}, {"name": "accuracy", "value": "NaN"}]
    report(world, progressPercentage=45, estimatedRemainingSeconds=3600, metrics=metrics)
    has(world, stream, 1)
    (event,) = reports(world, stream)
    assert (event.progress.percentage, event.progress.remaining_seconds) == (45, 3600)
    assert event.progress.metrics == (
        Metric(name="loss", value="0.25"),
        Metric(name="accuracy", value="NaN"),
    )
    assert event.reports == 1


def test_a_thousand_reports_are_two_events() -> None:
    world, stream = training()
    for number in range(1000):
        report(world, metrics=[{"name": "step", "value": str(number)}])
    has(world, stream, 1)
    world.clock.advance(A_WHILE)
    world.service.controller.sum_up()
    has(world, stream, 2)
    _, last = reports(world, stream)
    assert last.progress.metrics == (Metric(name="step", value="999"),)
    assert last.reports == 999
    world.clock.advance(A_WHILE)
    world.service.controller.sum_up()
    world.run(lambda: True, "nothing more")
    assert len(reports(world, stream)) == 2, "nothing has come since"


def test_that_all_is_done_is_written_down_at_once() -> None:
    world, stream = training()
    report(world, progressPercentage=10)
    has(world, stream, 1)
    report(world, progressPercentage=100)
    has(world, stream, 2)


def test_a_report_that_no_definition_would_let_in_is_cut_to_what_the_log_holds() -> None:
    world, stream = training()
    metrics = [{"name": f"m{number}\x00", "value": "9" * 500} for number in range(10_000)]
    report(
        world, progressPercentage=2**63, estimatedRemainingSeconds=-1, metrics=[1, None, *metrics]
    )
    has(world, stream, 1)
    (event,) = reports(world, stream)
    assert event.progress.percentage is None
    assert event.progress.remaining_seconds is None
    assert len(event.progress.metrics) == METRICS_MAX
    assert event.progress.metrics_left_out == 10_002 - METRICS_MAX
    assert event.progress.metrics[2].name == "m0\ufffd"
    assert len(event.progress.metrics[2].value) <= 64


def test_a_secret_of_the_job_does_not_get_into_the_log_by_a_metric() -> None:
    world, stream = training()
    report(world, metrics=[{"name": "loss", "value": "xK9-planted-runtime-secret"}])
    has(world, stream, 1)
    (event,) = reports(world, stream)
    assert "planted" not in event.progress.metrics[0].value
