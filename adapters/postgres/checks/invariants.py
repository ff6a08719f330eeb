"""Checks the invariants of the projections: final states, open work, due decisions, held jobs."""

from collections.abc import Iterator, Sequence

from sqlalchemy import Engine, text

from jobledger.adapters.postgres.connection.statements import all_mappings
from jobledger.adapters.postgres.schema.stored_events import IS_READ
from jobledger.core.catalogue import TYPES
from jobledger.core.forensics.findings import Check, Finding, error, warning
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import CLEARING
from jobledger.core.jobs.retries.retry import NEVER_RETRIED
from jobledger.core.kinds import ROLES

SHOWN_MAX = 5
"""So many jobs are named per finding."""

AFTER_THE_END = (DecisionKind.TTL_SHUTDOWN, DecisionKind.DELETION_RULE, DecisionKind.EFFECT_RETRY)
"""What may still be pending for a job that is Complete or Failed."""

WORKING = ("", "Initializing", "Running", "Suspending", "Retrying")
"""Phases in which something is heard of a job from time to time."""

_OVERDUE = """
    SELECT j.namespace, j.name, d.kind || ' due at ' || d.due_at AS detail
    FROM decision d JOIN job j USING (stream_id)
    WHERE d.state = 'pending' AND d.due_at < clock_timestamp() - interval '60 s'
    ORDER BY d.due_at
"""
_BEGUN_AFTER_THE_END = """
    SELECT j.namespace, j.name, 'attempt ' || a.number || ' began at ' || a.started_at AS detail
    FROM job j JOIN attempt a USING (stream_id)
    WHERE j.phase IN ('Complete', 'Failed') AND j.ended_at IS NOT NULL
        AND date_trunc('second', a.started_at) > j.ended_at
        AND (a.ended_at IS NULL OR a.ended_at >= a.started_at) AND NOT EXISTS (
            SELECT FROM attempt b WHERE b.stream_id = a.stream_id AND b.number > a.number
        ) AND NOT EXISTS (
            SELECT FROM event s JOIN event e ON e.stream_id = s.stream_id AND e.version > s.version
            WHERE s.stream_id = a.stream_id AND s.occurred_at = a.started_at
                AND s.type = ANY (:allowed) AND e.type = ANY (:allowed) AND e.type <> s.type
        )
"""
"""What the cluster says of an end has whole seconds: an attempt may begin and end within one.

Replicas whose clocks are apart may have told of a beginning and an end: then an attempt ended
before it began, or is followed by another, which none is that began after the end. So it is where
the clock of the controller was ahead of the cluster's: the log has the end behind the beginning.
"""
_PENDING_AFTER_THE_END = """
    SELECT j.namespace, j.name, d.kind || ' is pending' AS detail
    FROM decision d JOIN job j USING (stream_id)
    WHERE j.phase IN ('Complete', 'Failed') AND j.ended_at IS NOT NULL
        AND d.state = 'pending' AND NOT d.kind = ANY (:allowed)
"""
_EFFECTS_AFTER_THE_END = """
    SELECT j.namespace, j.name, e.kind || ' is under way' AS detail
    FROM effect e JOIN job j USING (stream_id)
    WHERE j.phase IN ('Complete', 'Failed') AND j.ended_at IS NOT NULL
        AND e.state = 'requested' AND NOT e.kind = ANY (:allowed)
"""
_OPEN_WORK_OF_CLOSED = """
    SELECT j.namespace, j.name, w.detail FROM (
        SELECT stream_id, kind || ' is pending' AS detail FROM decision WHERE state = 'pending'
        UNION ALL
        SELECT stream_id, kind || ' is under way' FROM effect WHERE state = 'requested'
    ) w JOIN job j USING (stream_id) WHERE NOT j.open
"""
_SLOW_EFFECTS = """
    SELECT j.namespace, j.name,
        e.kind || ' ' || e.target || ' since ' || e.requested_at
        || CASE e.trouble WHEN '' THEN '' ELSE ': ' || e.trouble END AS detail
    FROM effect e JOIN job j USING (stream_id)
    WHERE e.state = 'requested'
        AND e.requested_at < clock_timestamp() - interval '10 min'
    ORDER BY e.requested_at
"""
_DATA = f"(CASE WHEN {IS_READ} THEN e.data END)"
_FAILED, _LIMIT = (
    f"(CASE WHEN {_DATA} ->> '{name}' ~ '^[0-9]{{1,9}}$' THEN ({_DATA} ->> '{name}')::integer END)"
    for name in ("failed", "backoff_limit")
)
_NEVER = f"""
    SELECT j.namespace, j.name, 'attempt ' || a.number || ' ended by ' || a.reason AS detail
    FROM attempt a JOIN job j USING (stream_id)
    WHERE a.retried AND a.reason = ANY (:allowed) AND NOT EXISTS (
        SELECT FROM event e WHERE e.stream_id = a.stream_id
            AND (NOT {IS_READ} OR {_DATA} ->> 'inferred' = 'true')
    )
"""  # noqa: S608  # texts of this program
_SILENT = """
    SELECT j.namespace, j.name, 'in ' || j.phase || ', last heard of at ' || j.last_event_at
        AS detail
    FROM job j WHERE j.open AND j.phase = ANY (:allowed)
        AND j.last_event_at < clock_timestamp() - interval '1 h'
    ORDER BY j.last_event_at
"""
_UNHELD = """
    SELECT 'shard' AS namespace, w.shard::text AS name,
        coalesce('held by ' || nullif(l.owner, '') || ' until ' || l.until, 'held by nobody')
        AS detail
    FROM (SELECT DISTINCT j.cluster, j.shard FROM job j WHERE j.open) w
    LEFT JOIN ledger_cluster c ON c.cluster = w.cluster
    LEFT JOIN shard_lease l ON l.shard = w.shard + 16 * coalesce(c.slot, 0)
    WHERE l.shard IS NULL OR l.owner = '' OR l.until < clock_timestamp()
    ORDER BY w.cluster, w.shard
"""
_ENDED_TWICE = """
    SELECT j.namespace, j.name,
        'decision ' || e.correlation_id || ' has ' || count(*) || ' ends' AS detail
    FROM event e JOIN job j USING (stream_id)
    WHERE e.type IN ('DecisionFired', 'DecisionCancelled')
    GROUP BY j.namespace, j.name, e.stream_id, e.correlation_id HAVING count(*) > 1
"""

_ABOVE_LIMIT = f"""
    SELECT j.namespace, j.name,
        'attempt ' || ({_DATA} ->> 'attempt') || ' was retried with ' || {_FAILED}
        || ' failures and a limit of ' || {_LIMIT} AS detail
    FROM event e JOIN job j USING (stream_id)
    WHERE e.type = 'RetryGranted' AND {_DATA} ->> 'inferred' IS DISTINCT FROM 'true'
        AND {_FAILED} > {_LIMIT}
"""  # noqa: S608  # texts of this program

_A_BUG = "a bug: send `jobledger export JOB` with a report"


def _finals_final(engine: Engine) -> Iterator[Finding]:
    """Yield what goes on in jobs that are Complete or Failed and is no cleaning up."""
    remedy = f"{_A_BUG}, and run `jobledger replay JOB`"
    roles = (*ROLES.attempt_started, *ROLES.completed, *ROLES.failed)
    told = [name for name, cls in TYPES.items() if cls in roles]
    yield from _found(engine, "finals-final", _BEGUN_AFTER_THE_END, remedy, told)
    decisions = [kind.value for kind in AFTER_THE_END]
    yield from _found(engine, "finals-final", _PENDING_AFTER_THE_END, remedy, decisions)
    effects = sorted(kind.value for kind in CLEARING)
    yield from _found(engine, "finals-final", _EFFECTS_AFTER_THE_END, remedy, effects)


def finds_nothing(
    name: str,
    asks: str,
    query: str,
    remedy: str,
    *,
    allowed: Sequence[str] | None = None,
    severe: bool = True,
) -> Check[Engine]:
    """Return the check that a query finds nothing but, as its `:allowed`, what is allowed."""
    return Check(
        name=name,
        asks=asks,
        run=lambda engine: _found(engine, name, query, remedy, allowed, severe=severe),
    )


def _found(
    engine: Engine,
    check: str,
    query: str,
    remedy: str,
    allowed: Sequence[str] | None = None,
    *,
    severe: bool = True,
) -> Iterator[Finding]:
    """Yield one finding that names the first rows of a query and how many there are."""
    counted = text(f"SELECT *, count(*) OVER () AS total FROM ({query}) q LIMIT {SHOWN_MAX}")  # noqa: S608  # texts of this file
    rows = all_mappings(engine, counted, {} if allowed is None else {"allowed": list(allowed)})
    if not rows:
        return
    named = "; ".join(f"{row['namespace']}/{row['name']}: {row['detail']}" for row in rows)
    more = rows[0]["total"] - len(rows)
    what = f"{named}; and {more} more" if more else named
    yield (error if severe else warning)(check, what, remedy)


CHECKS: tuple[Check[Engine], ...] = (
    finds_nothing(
        "overdue-decisions",
        "Is every decision carried out within a minute of its instant?",
        _OVERDUE,
        "start the service; if it runs, /readyz notes clocks that are apart; else look at /healthz "
        "and at who holds the shard",
        severe=False,
    ),
    Check(
        name="finals-final",
        asks="Is nothing done for a finished job but cleaning up, and nothing begun?",
        run=_finals_final,
    ),
    finds_nothing(
        "closed-jobs",
        "Has a job that is over nothing open?",
        _OPEN_WORK_OF_CLOSED,
        "`jobledger rebuild --check` says which table is wrong, `jobledger rebuild` mends it",
    ),
    finds_nothing(
        "slow-effects",
        "Is every effect done within ten minutes?",
        _SLOW_EFFECTS,
        "what stands after the colon stops it: permissions, quotas, an admission webhook",
        severe=False,
    ),
    finds_nothing(
        "never-retried",
        "Was nothing retried after a deadline or an unanswered status check?",
        _NEVER,
        _A_BUG,
        allowed=sorted(NEVER_RETRIED),
    ),
    finds_nothing(
        "silent-jobs",
        "Was every job at work heard of within the hour?",
        _SILENT,
        "see whether the object is there; if it is, look at the log of the service for its name",
        allowed=WORKING,
        severe=False,
    ),
    finds_nothing(
        "leases",
        "Is every shard with open jobs held by a replica?",
        _UNHELD,
        "start the service, or another replica of it; a dead one is replaced after its lease",
    ),
)

WHOLE: tuple[Check[Engine], ...] = (
    finds_nothing(
        "decisions-end-once",
        "Has every decision exactly one end? (with --full)",
        _ENDED_TWICE,
        _A_BUG,
    ),
    finds_nothing(
        "retries-in-limit",
        "Was no retry granted above backoffLimit? (with --full)",
        _ABOVE_LIMIT,
        _A_BUG,
    ),
)
"""Those that read the whole log."""


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
"""No invariant, but why jobs fail soon if they do not."""
