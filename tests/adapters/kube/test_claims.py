"""Which other ledger controls the jobs of one, as the claims in the cluster say."""

from dataclasses import replace
from datetime import timedelta

import pytest

from jobledger.adapters.kube.checks.claims import who_acts_instead
from jobledger.core.claims.leases import manifest_of
from jobledger.core.claims.rule import Claim, Standing
from jobledger.core.ports.cluster import LEASES, NAMESPACES
from jobledger.core.values.documents import Manifest
from tests.support.memory_cluster import MemoryCluster
from tests.support.records import NOON

ACTING = Claim(
    name="jobledger-a",
    owner="a/1",
    since="2026-01-01T11:00:00.000000Z",
    standing=Standing.ACTING,
    database="1/1/5/public",
    kinds=("RayJob",),
)
MINE = replace(ACTING, name="jobledger-b", owner="b/1", database="2/1/5/public")
WAITING = replace(MINE, standing=Standing.WAITING)
ELSEWHERE = replace(WAITING, namespaces=("b",))


def a_cluster() -> MemoryCluster:
    """Return a cluster with the namespace of the claims."""
    cluster = MemoryCluster(lambda: NOON)
    metadata: Manifest = {"name": "jobledger"}
    cluster.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    return cluster


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        pytest.param([], "", id="nobody claims anything"),
        pytest.param([MINE], "", id="its own service acts"),
        pytest.param([ACTING], "the service of this one does not run", id="another's alone"),
        pytest.param([ACTING, WAITING], "the service of this one waits", id="its own waits"),
        pytest.param([ACTING, MINE], "the service of this one acts as well", id="both act"),
        pytest.param(
            [replace(ACTING, standing=Standing.WAITING), MINE], "", id="another's waits for its own"
        ),
        pytest.param(
            [replace(ACTING, namespaces=("a",)), ELSEWHERE], "", id="another's controls other jobs"
        ),
    ],
)
def test_who_acts_instead(claims: list[Claim], said: str) -> None:
    cluster = a_cluster()
    for claim in claims:
        cluster.create(LEASES, manifest_of(claim, "jobledger", 15, NOON))
    told = who_acts_instead(cluster, "jobledger", MINE.database, NOON)
    assert told.endswith(said)
    assert bool(told) == bool(said)
    assert ("a/1" in told) == bool(said)


def test_a_claim_that_was_not_renewed_is_none() -> None:
    cluster = a_cluster()
    cluster.create(LEASES, manifest_of(ACTING, "jobledger", 15, NOON))
    late = NOON + timedelta(minutes=1)
    assert who_acts_instead(cluster, "jobledger", MINE.database, late) == ""
