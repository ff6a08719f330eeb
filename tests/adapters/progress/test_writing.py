"""Reports on their way into the status: each job's now and then, namespaces in turn."""

from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime

import pytest

from jobledger.adapters.kinds.trainjob.progress.writing import (
    EVERY_SECONDS,
    TRIES,
    WAITING_MAX,
    WRITES_AT_ONCE,
    Report,
    TooManyReports,
    Writer,
)
from jobledger.core.errors import ObjectChanged, ObjectNotFound
from jobledger.core.ports.cluster import TRAINJOBS, Resource
from jobledger.core.values.documents import Manifest, child, text

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


class Seconds:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Cluster:
    """TrainJobs of every name, with the UID `uid-<name>`."""

    def __init__(self) -> None:
        self.written: list[tuple[str, object]] = []
        self.conflicts = 0
        self.meanwhile: Callable[[], None] | None = None
        """What happens while the next one is written."""
        self.breaks: Exception | None = None

    def get(self, resource: Resource, namespace: str, name: str) -> Manifest | None:
        assert resource == TRAINJOBS
        return {"metadata": {"uid": f"uid-{name}", "resourceVersion": "7", "namespace": namespace}}

    def apply(self, resource: Resource, manifest: Manifest, **how: object) -> Manifest:
        assert (resource, how["subresource"], how["force"]) == (TRAINJOBS, "status", True)
        assert how["field_manager"] == "trainer-status"
        assert text(manifest, "metadata", "resourceVersion") == "7"
        if self.conflicts:
            self.conflicts -= 1
            raise ObjectChanged("others write")
        meanwhile, self.meanwhile = self.meanwhile, None
        if self.breaks is not None:
            error, self.breaks = self.breaks, None
            raise error
        job = f"{text(manifest, 'metadata', 'namespace')}/{text(manifest, 'metadata', 'name')}"
        self.written.append((job, child(manifest, "status", "trainerStatus")["n"]))
        if meanwhile is not None:
            meanwhile()
        return manifest


def parts() -> tuple[Writer, Cluster, Seconds]:
    cluster, clock = Cluster(), Seconds()
    return Writer(cluster, clock, lambda: NOW), cluster, clock  # type: ignore[arg-type] # of the port two methods


def report(number: int, name: str = "fit", namespace: str = "ml", uid: str = "") -> Report:
    return Report(
        namespace=namespace, name=name, uid=uid or f"uid-{name}", trainer_status={"n": number}
    )


def test_a_report_is_answered_once_it_or_a_newer_one_is_in_the_status() -> None:
    writer, cluster, clock = parts()
    first = writer.take(report(0))
    assert not first.done()
    writer.write_waiting()
    assert first.done()
    assert cluster.written == [("ml/fit", 0)]
    answers = [writer.take(report(number)) for number in range(1, 1000)]
    writer.write_waiting()
    assert not any(one.done() for one in answers), "its turn has not come"
    clock.now += EVERY_SECONDS
    writer.write_waiting()
    writer.write_waiting()
    assert cluster.written == [("ml/fit", 0), ("ml/fit", 999)]
    assert [one.result(0) for one in answers] == [None] * 999


def test_a_newer_report_waits_until_the_one_before_is_written() -> None:
    writer, cluster, clock = parts()
    newer: list[Future[None]] = []

    def meanwhile() -> None:
        """While the first is written, another thread looks what is due."""
        clock.now += EVERY_SECONDS
        newer.append(writer.take(report(2)))
        writer.write_waiting()
        assert not newer[0].done()

    cluster.meanwhile = meanwhile
    writer.take(report(1))
    writer.write_waiting()
    assert cluster.written == [("ml/fit", 1), ("ml/fit", 2)]
    assert newer[0].result(0) is None


def test_whoever_waits_no_more_does_not_keep_the_others_from_their_answer() -> None:
    writer, cluster, _ = parts()
    gone, stays = writer.take(report(1)), writer.take(report(2))
    gone.cancel()
    writer.write_waiting()
    assert cluster.written == [("ml/fit", 2)]
    assert stays.result(0) is None


def test_what_waits_is_written_at_the_end_before_its_turn() -> None:
    writer, cluster, _ = parts()
    for job in range(int(WRITES_AT_ONCE) + 2):
        writer.take(report(0, f"job{job}"))
    writer.write_waiting()
    answers = [writer.take(report(1, f"job{job}")) for job in range(int(WRITES_AT_ONCE) + 2)]
    writer.write_last()
    last = dict(cluster.written)
    assert last == {f"ml/job{job}": 1 for job in range(int(WRITES_AT_ONCE) + 2)}
    assert all(one.done() for one in answers)
    written = len(cluster.written)
    writer.write_last()
    assert len(cluster.written) == written


def test_a_namespace_with_a_thousand_jobs_does_not_keep_another_waiting() -> None:
    writer, cluster, clock = parts()
    for number in range(1000):
        writer.take(report(number, f"job{number}", "greedy"))
    writer.write_waiting()
    assert len(cluster.written) == WRITES_AT_ONCE
    writer.take(report(1, "fit", "modest"))
    clock.now += 0.2
    writer.write_waiting()
    assert ("modest/fit", 1) in cluster.written


def test_more_jobs_than_can_be_kept_are_told_so() -> None:
    writer, _, _ = parts()
    for number in range(WAITING_MAX):
        writer.take(report(number, f"job{number}"))
    with pytest.raises(TooManyReports):
        writer.take(report(1, "one-more"))
    writer.take(report(1, "job0"))


def test_a_job_made_anew_under_the_name_does_not_get_the_report() -> None:
    writer, cluster, _ = parts()
    answer = writer.take(report(1, uid="uid-of-the-one-before"))
    writer.write_waiting()
    with pytest.raises(ObjectNotFound):
        answer.result(0)
    assert cluster.written == []


def test_what_others_write_meanwhile_is_looked_at_again_a_few_times() -> None:
    writer, cluster, _ = parts()
    cluster.conflicts = TRIES - 1
    writer.take(report(1))
    writer.write_waiting()
    assert cluster.written == [("ml/fit", 1)]
    cluster.conflicts = TRIES
    answer = writer.take(report(2, "other"))
    writer.write_waiting()
    with pytest.raises(ObjectChanged):
        answer.result(0)


def test_an_error_that_nobody_foresaw_is_an_answer_and_ends_nothing() -> None:
    writer, cluster, clock = parts()
    broken = cluster.breaks = ValueError("broken")
    answer = writer.take(report(1))
    writer.write_waiting()
    assert answer.exception(0) is broken
    clock.now += EVERY_SECONDS
    writer.take(report(2))
    writer.write_waiting()
    assert cluster.written == [("ml/fit", 2)]
