"""Checks whether Ray heads answer: no invariant, but why jobs fail soon if they do not."""

from collections.abc import Iterator

from sqlalchemy import Engine

from jobledger.adapters.postgres.checks.invariants import found
from jobledger.core.forensics.findings import Check, Finding

_SILENT_HEADS = """
    SELECT j.namespace, j.name, d.cause || '; it fails at ' || d.due_at AS detail, d.due_at AS at
    FROM decision d JOIN job j USING (stream_id)
    WHERE d.state = 'pending' AND d.kind = 'status_check'
    UNION ALL
    SELECT j.namespace, j.name, e.kind || ' ' || e.target || ': ' || e.trouble, e.requested_at
    FROM effect e JOIN job j USING (stream_id)
    WHERE e.state = 'requested' AND e.kind = 'submit_entrypoint' AND e.trouble <> ''
        AND NOT EXISTS (
            SELECT FROM decision s WHERE s.stream_id = e.stream_id
                AND s.state = 'pending' AND s.kind = 'status_check'
        )
    ORDER BY at
"""
"""Heads that are asked and do not answer, and those that nothing can be handed in to."""


def ray_heads(engine: Engine) -> Iterator[Finding]:
    """Yield jobs whose Ray heads do not answer."""
    remedy = (
        "if it is all heads, open the way from the service to their port 8265: cluster DNS, "
        "JOBLEDGER_CLUSTER_DOMAIN, NetworkPolicies; outside of the cluster HTTP_PROXY"
    )
    yield from found(engine, "ray-heads", _SILENT_HEADS, remedy, severe=False)


RAY_HEADS: Check[Engine] = Check(
    name="ray-heads", asks="Does every Ray head that is asked answer?", run=ray_heads
)
