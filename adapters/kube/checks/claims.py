"""Asks the claims of ledgers in the cluster which of them controls the jobs of one ledger."""

from jobledger.core.claims.leases import SELECTOR, claim_of, is_recent
from jobledger.core.claims.rule import Standing, overlap
from jobledger.core.errors import ObjectNotFound, RequestForbidden
from jobledger.core.ports.cluster import LEASES, Cluster
from jobledger.core.values.instants import Instant


def who_acts_instead(cluster: Cluster, namespace: str, database: str, now: Instant) -> str:
    """Return which other ledger controls jobs that would be those of one; empty if none is known.

    Args:
        cluster: Where the claims are; raises as it does.
        namespace: The namespace they are kept in.
        database: The identity of the database of that one ledger.
        now: The instant.
    """
    try:
        found = cluster.list(LEASES, namespace, SELECTOR).items
    except (ObjectNotFound, RequestForbidden):
        return ""  # as `doctor` says
    claims = [claim_of(one) for one in found if is_recent(one, now)]
    own = [one for one in claims if one.database == database]
    others = [
        one
        for one in claims
        if one.database != database
        and one.standing is Standing.ACTING
        and (not own or any(overlap(mine, one) for mine in own))
    ]
    if not others:
        return ""
    told = "; ".join(
        f"{one.owner} (since {one.since}, claim {namespace}/{one.name})" for one in others
    )
    acts = any(one.standing is Standing.ACTING for one in own)
    runs = "acts as well" if acts else "waits" if own else "does not run"
    return (
        f"another ledger controls jobs of this cluster, by {told}; the service of this one {runs}"
    )
