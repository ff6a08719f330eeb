"""Who writes the status of an object, as the API server has recorded it."""

from typing import Any

from adapters.kube.field_managers import last_status_writer, status_writers
from tests.adapters.kube.samples import rayjob


def entry(manager: str, time: str, *fields: str) -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "ray.io/v1",
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": {field: {} for field in fields},
    }


def test_the_last_writer_of_the_status_is_named_first() -> None:
    job = rayjob(
        "a",
        1,
        managedFields=[
            entry("kubectl", "2026-11-21T03:00:09Z", "f:metadata", "f:spec"),
            entry("ray-operator", "2026-11-21T03:00:05Z", "f:status"),
            entry("jobledger", "2026-11-21T03:00:03Z", "f:status"),
        ],
    )
    assert last_status_writer(job) == "ray-operator"
    assert [writer.manager for writer in status_writers(job)] == ["ray-operator", "jobledger"]


def test_nobody_has_written_a_status_that_is_not_there() -> None:
    assert last_status_writer(rayjob("a", 1)) == ""
    spec_only = [entry("kubectl", "2026-11-21T03:00:09Z", "f:spec")]
    assert last_status_writer(rayjob("a", 1, managedFields=spec_only)) == ""


def test_strange_entries_do_no_harm() -> None:
    strange: list[Any] = [None, 7, {"manager": "x"}, {"fieldsV1": {"f:status": {}}}]
    assert last_status_writer(rayjob("a", 1, managedFields=strange)) == ""
