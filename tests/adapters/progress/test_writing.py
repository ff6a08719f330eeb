"""Reports on their way into the status: each job's now and then, namespaces in turn."""

import pytest

from jobledger.adapters.progress.writing import EVERY_SECONDS, TRIES, WRITES_AT_ONCE, Report, Writer
from jobledger.core.errors import ObjectChanged, ObjectNotFound
from jobledger.core.ports.cluster import TRAINJOBS, Resource
from jobledger.core.values.documents import Manifest, child, text


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
        job = f"{text(manifest, 'metadata', 'namespace')}/{text(manifest, 'metadata', 'name')}"
        self.written.append((job, child(manifest, "status", "trainerStatus")["n"]))
        return manifest


def parts() -> tuple[Writer, Cluster, Seconds]:
    cluster, clock = Cluster(), Seconds()
    return Writer(cluster, clock), cluster, clock  # type: ignore[arg-type] # of the port two methods


def report(number: int, name: str = "fit", namespace: str = "ml", uid: str = "") -> Report:
    return Report(
        namespace=namespace, name=name, uid=uid or f"uid-{name}", trainer_status={"n": number}
    )


def test_the_first_is_written_at_once_and_of_those_after_it_the_newest() -> None:
    writer, cluster, clock = parts()
    for number in range(1000):
        writer.take(report(number))
    writer.write_waiting()
    assert cluster.written == [("ml/fit", 0)]
    clock.now += EVERY_SECONDS
    writer.write_waiting()
    writer.write_waiting()
    assert cluster.written == [("ml/fit", 0), ("ml/fit", 999)]


def test_what_waits_is_written_at_the_end_before_its_turn() -> None:
    writer, cluster, _ = parts()
    for job in range(int(WRITES_AT_ONCE) + 2):
        writer.take(report(0, f"job{job}"))
        writer.take(report(1, f"job{job}"))
    writer.write_last()
    last = dict(cluster.written)
    assert last == {f"ml/job{job}": 1 for job in range(int(WRITES_AT_ONCE) + 2)}
    written = len(cluster.written)
    writer.write_last()
    assert len(cluster.written) == written


def test_a_namespace_with_a_thousand_jobs_does_not_keep_another_waiting() -> None:
    writer, cluster, clock = parts()
    for number in range(1000):
        writer.take(report(number, f"job{number}", "greedy"))
    assert len(cluster.written) == WRITES_AT_ONCE
    writer.take(report(1, "fit", "modest"))
    clock.now += 0.2
    writer.write_waiting()
    assert ("modest/fit", 1) in cluster.written


def test_a_job_made_anew_under_the_name_does_not_get_the_report() -> None:
    writer, cluster, _ = parts()
    with pytest.raises(ObjectNotFound):
        writer.take(report(1, uid="uid-of-the-one-before"))
    assert cluster.written == []


def test_what_others_write_meanwhile_is_looked_at_again_a_few_times() -> None:
    writer, cluster, _ = parts()
    cluster.conflicts = TRIES - 1
    writer.take(report(1))
    assert cluster.written == [("ml/fit", 1)]
    cluster.conflicts = TRIES
    with pytest.raises(ObjectChanged):
        writer.take(report(2, "other"))
