"""Two processes that write reports of one TrainJob: an older report never replaces a newer one."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from jobledger.adapters.kinds.trainjob.progress.writing import Report, Writer
from jobledger.core.ports.cluster import TRAINJOBS, Resource
from jobledger.core.values.documents import Manifest, child, text
from jobledger.core.values.instants import rfc3339
from tests.acceptance.trainjobs import trainjob
from tests.support.memory_cluster import MemoryCluster

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
NOW = NOON + timedelta(seconds=30)


class Interrupted(MemoryCluster):
    """Lets something else happen after a TrainJob was read and before it is written."""

    meanwhile: Callable[[], None] | None = None

    def get(self, resource: Resource, namespace: str, name: str) -> Manifest | None:
        found = super().get(resource, namespace, name)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return found


class Site:
    """One TrainJob, two replicas, and a clock for each that stands."""

    def __init__(self) -> None:
        self.cluster = Interrupted()
        made = self.cluster.create(
            TRAINJOBS, {**trainjob("fit"), "metadata": {"name": "fit", "namespace": "ml"}}
        )
        self.uid = text(made, "metadata", "uid")
        self.one, self.other = (Writer(self.cluster, lambda: 0.0, lambda: NOW) for _ in range(2))

    def report(self, at: datetime, percentage: int = 1) -> Report:
        """Return a report of an instant."""
        shown: Manifest = {"progressPercentage": percentage, "lastUpdatedTime": rfc3339(at)}
        return Report(namespace="ml", name="fit", uid=self.uid, trainer_status=shown)

    def write(self, writer: Writer, at: datetime, percentage: int = 1) -> None:
        """Have a report written, or found to be outdated."""
        answer = writer.take(self.report(at, percentage))
        writer.write_waiting()
        assert answer.result(0) is None, "it, or a newer one, is in the status"

    @property
    def shown(self) -> Manifest:
        """Return what the status shows."""
        return child(self.cluster.get(TRAINJOBS, "ml", "fit"), "status", "trainerStatus")


@pytest.fixture
def site() -> Site:
    return Site()


def test_an_older_report_does_not_replace_the_newer_one_of_another_replica(site: Site) -> None:
    older = site.one.take(site.report(NOON + timedelta(seconds=1)))
    site.write(site.other, NOON + timedelta(seconds=3), 3)
    site.one.write_waiting()
    assert older.result(0) is None, "a newer one is in the status"
    assert site.shown == site.report(NOON + timedelta(seconds=3), 3).trainer_status


def test_a_newer_report_that_is_written_between_look_and_write_stays(site: Site) -> None:
    newer = NOON + timedelta(seconds=3)
    site.cluster.meanwhile = lambda: site.write(site.other, newer, 3)
    site.write(site.one, NOON + timedelta(seconds=1))
    assert site.shown == site.report(newer, 3).trainer_status


def test_an_older_report_that_is_written_between_look_and_write_goes(site: Site) -> None:
    site.cluster.meanwhile = lambda: site.write(site.other, NOON + timedelta(seconds=1))
    site.write(site.one, NOON + timedelta(seconds=3), 3)
    assert site.shown == site.report(NOON + timedelta(seconds=3), 3).trainer_status


def test_a_report_that_comes_late_does_not_push_out_a_newer_one_that_waits(site: Site) -> None:
    newer, older = (
        site.one.take(site.report(NOON + timedelta(seconds=second), second)) for second in (3, 1)
    )
    site.one.write_waiting()
    assert (newer.result(0), older.result(0)) == (None, None)
    assert site.shown == site.report(NOON + timedelta(seconds=3), 3).trainer_status


def test_of_reports_of_one_second_the_last_to_come_stays(site: Site) -> None:
    site.write(site.one, NOON, 1)
    site.write(site.other, NOON, 2)
    assert site.shown == site.report(NOON, 2).trainer_status


def test_a_clock_that_is_far_ahead_silences_nobody(site: Site) -> None:
    site.write(site.one, NOW + timedelta(hours=1))
    site.write(site.other, NOW, 2)
    assert site.shown == site.report(NOW, 2).trainer_status
