"""On which node a failure was: that of the Pod in trouble, and none where several may be meant."""

import pytest
from msgspec.structs import asdict, replace

from jobledger.core.catalogue import read_event
from jobledger.core.jobs.evidence.evidence import ContainerEnd, PodEvidence
from jobledger.core.jobs.evidence.scene import waiting_occasion
from jobledger.core.jobs.observations import EvidenceSeen
from jobledger.core.projections.reporting.failures import worst_node
from jobledger.core.projections.reporting.fold import Folded, Rules, fold, rows_of
from tests.support import batchjobs as batch
from tests.support.batch_lives import recorded_job
from tests.support.rayjob_builders import UNNAMED


def pod(node: str, code: int | None = None) -> PodEvidence:
    """Return a Pod that runs, or whose container ended with a code."""
    state = "running" if code is None else "terminated"
    ends = (ContainerEnd(name="main", state=state, exit_code=code),)
    phase = "Running" if code is None else "Failed"
    return PodEvidence(
        name=f"on-{node}", uid=node, role="node", phase=phase, node=node, containers=ends
    )


@pytest.mark.parametrize(
    ("pods", "node"),
    [
        ((pod("a"), pod("b", 1)), "b"),
        ((pod("a", 1), pod("b", 137)), "a"),
        ((pod("a"), pod("b")), ""),
        ((pod("a"), pod("a")), "a"),
        ((pod("", 1), pod("a")), ""),
        ((), ""),
    ],
)
def test_the_node_of_the_pod_in_the_greatest_trouble(
    pods: tuple[PodEvidence, ...], node: str
) -> None:
    """Of Pods in equal trouble the first counts: so evidence has them in order."""
    assert worst_node(pods) == node


def captured(at: float, *pods: PodEvidence, occasion: str = "failure/1") -> EvidenceSeen:
    seen = EvidenceSeen(id=UNNAMED, at=batch.after(at), attempt=1, occasion=occasion, pods=pods)
    return batch.named(seen)


def node_of(*story: batch.Step) -> str | None:
    folded = Folded()
    for record in recorded_job(story):
        folded = fold(folded, record, read_event(record), Rules())
    (failure,) = rows_of(folded).facts["report_failure"]
    said = asdict(failure)["node"]
    assert said is None or isinstance(said, str)
    return said


FAILS = batch.job(60, end=batch.failed_end(60), failed=1)


def test_a_failure_has_the_node_of_its_evidence() -> None:
    assert node_of(*batch.running(), FAILS, captured(61, pod("gpu-12", 1))) == "gpu-12"


def test_a_failure_without_evidence_has_none() -> None:
    assert node_of(*batch.running(), FAILS) is None


def test_where_pods_waited_before_they_ran_is_no_node_of_the_failure() -> None:
    waited = captured(15, pod("gpu-1", 1), occasion=waiting_occasion(1))
    assert node_of(*batch.running(), replace(waited), FAILS) is None
