"""The question for failures like one, put to the reporting views of a ledger."""

import pytest
from sqlalchemy import Engine

from jobledger.adapters.postgres.reports.asking.similar import similar_to
from jobledger.core.jobs.evidence.evidence import ContainerEnd, PodEvidence
from jobledger.core.jobs.observations import EvidenceSeen
from jobledger.core.values.ids import StreamId
from tests.support import rayjob_builders as ray
from tests.support import rayjob_stories as stories
from tests.support.ledgers import postgres_ledger
from tests.support.recorded import append_records, job_called, recorded
from tests.support.reported import project_all

pytestmark = pytest.mark.postgres

NODES = {"a-1": "gpu-12", "b-1": "gpu-12", "c-1": "gpu-1", "d-1": ""}
"""Job -> the node on which its worker was over its memory; empty: no evidence says it."""


def over_its_memory(node: str) -> stories.Story:
    """Return the life of a job whose worker was ended for its memory."""
    end = ContainerEnd(name="ray", state="terminated", reason="OOMKilled", exit_code=137)
    pod = PodEvidence(
        name="w", uid="w", role="worker", phase="Failed", node=node, containers=(end,)
    )
    seen = EvidenceSeen(
        id=ray.UNNAMED, at=ray.after(43), attempt=1, occasion="failure/1", pods=(pod,)
    )
    return (*stories.working(), *stories.failing(), ray.named(seen))


@pytest.fixture
def streams(engine: Engine) -> dict[str, StreamId]:
    """The streams by name, in a ledger whose reports are up to date."""
    ledger = postgres_ledger(engine)
    ledger.take_all_shards()
    found = {}
    for name in (*NODES, "fine", "broken"):
        with job_called(name):
            if name in NODES:
                records = recorded(over_its_memory(NODES[name]))
            elif name == "fine":
                records = recorded(stories.succeeded())
            else:
                records = recorded((*stories.working(), *stories.failing()))
            found[name] = records[0].stream_id
        append_records(ledger, records)
    project_all(engine)
    return found


def test_failures_of_the_same_cause_are_found_and_no_others(
    engine: Engine, streams: dict[str, StreamId]
) -> None:
    found = similar_to(engine, streams["a-1"], "out-of-memory")
    assert found is not None
    assert (found.cause, found.failures, found.jobs) == ("out-of-memory", 3, 3)
    assert (found.node, found.failures_on_node) == ("gpu-12", 1)
    assert found.sentences[1] == "It is the 2nd time on node gpu-12, of 3 whose node is known."


def test_a_failure_without_a_node_is_told_of_none(
    engine: Engine, streams: dict[str, StreamId]
) -> None:
    found = similar_to(engine, streams["d-1"], "out-of-memory")
    assert found is not None
    assert (found.node, found.failures_on_node, len(found.sentences)) == ("", 0, 1)


def test_what_is_alone_and_what_did_not_fail(engine: Engine, streams: dict[str, StreamId]) -> None:
    alone = similar_to(engine, streams["broken"], "application")
    assert alone is not None
    assert (alone.failures, alone.sentences) == (0, ())
    assert similar_to(engine, streams["fine"], "application") is None
