"""Checks whether Ray heads answer: no invariant, but why jobs fail soon if they do not."""

from jobledger.adapters.postgres.checks.invariants import finds_nothing

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

RAY_HEADS = finds_nothing(
    "ray-heads",
    "Does every Ray head that is asked answer?",
    _SILENT_HEADS,
    "if it is all heads, open the way from the service to their port 8265: cluster DNS, "
    "JOBLEDGER_CLUSTER_DOMAIN, NetworkPolicies; outside of the cluster HTTP_PROXY",
    severe=False,
)
