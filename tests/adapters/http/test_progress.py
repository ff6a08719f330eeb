"""How far a TrainJob is, in the JSON API."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from jobledger.adapters.http.api.answers import JobDetail
from jobledger.adapters.http.api.application import PREFIX
from jobledger.adapters.http.api.openapi import openapi
from tests.adapters.http.conftest import Site, Sources, serve_of
from tests.contracts.history import append_history
from tests.support.evidence import MemoryEvidence
from tests.support.ledgers import memory_ledger
from tests.support.trainjobs import after, completed, play, progress, running


@contextmanager
def site_with(*story: Any) -> Iterator[Site]:  # noqa: ANN401 steps of any kind
    """Serve a ledger in which one TrainJob is."""
    ledger = memory_ledger()
    ledger.take_all_shards()
    append_history(ledger, play(story).history)
    yield from serve_of(Sources(ledger.store, ledger.history, MemoryEvidence()), "")


def told(site: Site) -> dict[str, Any] | None:
    """Return the progress of the one job."""
    (row,) = json.loads(site.get(f"{PREFIX}/jobs").data)["items"]
    answer = site.get(f"{PREFIX}/jobs/{row['stream_id']}")
    assert answer.status == 200, answer.data
    msgspec.json.decode(answer.data, type=JobDetail)
    found = json.loads(answer.data)["progress"]
    return dict(found) if found is not None else None


def test_a_job_that_has_stopped_reporting_is_told_to_be_silent() -> None:
    with site_with(*running(), progress(30, 24)) as site:
        found = told(site)
    assert found is not None
    assert found.pop("age_seconds") > 300
    assert found == {
        "percentage": 24,
        "estimated_end": None,
        "metrics": [],
        "reported_at": after(30).isoformat().replace("+00:00", "Z"),
        "silent": True,
    }


def test_a_job_that_is_done_is_not_called_silent() -> None:
    with site_with(*running(), progress(30, 24), *completed()[len(running()) :]) as site:
        found = told(site)
    assert found is not None
    assert (found["percentage"], found["silent"]) == (24, False)


def test_without_a_report_there_is_none() -> None:
    with site_with(*running()) as site:
        assert told(site) is None


def test_it_is_described() -> None:
    described: Any = openapi("1")
    schemas = described["components"]["schemas"]
    shapes = schemas["JobDetail"]["properties"]["progress"]["anyOf"]
    assert {"$ref": "#/components/schemas/ShownProgress"} in shapes
    assert {"type": "null"} in shapes
    fields = set(schemas["ShownProgress"]["properties"])
    assert fields >= {"percentage", "estimated_end", "metrics", "reported_at", "silent"}
