"""Reporting views of the controller's work: decisions, gaps, hours, health."""

from jobledger.adapters.postgres.report_v1.model import (
    BIGINT,
    DIMENSIONS,
    INSTANT,
    INTEGER,
    NAME,
    SECONDS,
    STREAM,
    TEXT,
    UUID,
    Field,
    ReportView,
    between,
    facts,
    field,
    seconds,
)

DECISIONS = ReportView(
    name="decisions",
    meaning="One thing that the controller resolved to do at a later instant",
    order="due_at",
    origin=facts("report_decision"),
    fields=(
        STREAM,
        field("decision_id", UUID, "The decision"),
        NAME,
        *DIMENSIONS,
        field("attempt", INTEGER, "Attempt it was made in; 0 before the first"),
        field("decision", TEXT, "retry, active_deadline, ttl_shutdown and the like"),
        field("state", TEXT, "pending, fired or cancelled"),
        field("scheduled_at", INSTANT, "When it was made"),
        field("due_at", INSTANT, "When it is to be carried out"),
        field("resolved_at", INSTANT, "When it fired or was cancelled", null="while it is pending"),
        field(
            "lateness_ms",
            SECONDS,
            "From due_at until its firing was written down",
            unit="milliseconds",
            null="unless it fired",
        ),
        field("cause", TEXT, "Why it was made, in words"),
        field("resolution", TEXT, "Why it was cancelled; empty otherwise"),
    ),
)

GAPS = ReportView(
    name="observation_gaps",
    meaning="One interval, half-open, in which changes of a job may not have been seen",
    order="since_at",
    origin=facts("report_gap"),
    fields=(
        STREAM,
        field("number", INTEGER, "Place among the gaps of the job, from 1"),
        NAME,
        *DIMENSIONS,
        field("source", TEXT, "Which watch"),
        field("since_at", INSTANT, "Last instant at which all was seen"),
        field("until_at", INSTANT, "From when on all is seen again"),
        field("found_at", INSTANT, "When the gap was found"),
        field("reason", TEXT, "What broke the watch"),
        seconds("seconds", "How long it was", between("f.since_at", "f.until_at")),
    ),
)


def _summed(name: str, meaning: str, unit: str = "") -> Field:
    return field(name, BIGINT, meaning, f"sum(f.{name})::bigint", unit=unit)


HOURS = ReportView(
    name="controller_hours",
    meaning="One hour of the controller's work in one cluster, by the instants of writing down",
    order="hour",
    origin=(
        "{schema}.report_activity f"
        " LEFT JOIN {schema}.report_dimension d ON d.dimension_id = f.dimension_id"
        " GROUP BY f.hour, d.cluster"
    ),
    fields=(
        field("hour", INSTANT, "First instant of the hour (UTC); it is half-open"),
        field("cluster", TEXT, "Kubernetes cluster", "d.cluster"),
        field("jobs", BIGINT, "Jobs of which something was written down", "count(*)"),
        _summed("events", "Events that were appended"),
        _summed("observations", "Observations that brought news"),
        _summed("effects_requested", "Effects that were asked for"),
        _summed("effects_succeeded", "Effects that were carried out"),
        _summed("effects_faltered", "Kinds of trouble met by effects that went on being tried"),
        _summed("effects_failed", "Effects that were refused"),
        _summed("effects_superseded", "Effects that were no longer wanted"),
        _summed("decisions_fired", "Decisions that were carried out"),
        _summed("decisions_cancelled", "Decisions that were no longer needed"),
        field(
            "lateness_ms_max",
            SECONDS,
            "Greatest lateness of a decision, as in decisions",
            "max(f.lateness_ms_max)",
            unit="milliseconds",
            null="if none fired",
        ),
        field(
            "lateness_ms_avg",
            SECONDS,
            "Mean lateness of the decisions that fired",
            "sum(f.lateness_ms_sum) / nullif(sum(f.decisions_fired), 0)",
            unit="milliseconds",
            null="if none fired",
        ),
        _summed("status_writes", "Times that a .status was written"),
        _summed("failed_status_checks", "Heads that began to leave questions unanswered"),
        _summed("gaps", "Observation gaps that were found"),
    ),
)

HEALTH = ReportView(
    name="controller_health",
    meaning="The ledger at this moment; always one row",
    order="",
    origin="{schema}.report_checkpoint f CROSS JOIN {schema}.log_head h",
    fields=(
        field("checked_at", INSTANT, "Now, by the clock of the database", "now()"),
        field("last_position", BIGINT, "Position of the last event of the log", "h.position"),
        field("projected_position", BIGINT, "Position up to which these views are", "f.position"),
        field(
            "lag_events",
            BIGINT,
            "Events that these views do not reflect yet",
            "greatest(0, h.position - f.position)",
        ),
        seconds(
            "lag_seconds",
            "How long the oldest of them has been waiting; 0 if there are none",
            "CASE WHEN h.position <= f.position THEN 0 ELSE coalesce(greatest(0, date_part('epoch',"
            " now() - (SELECT e.recorded_at FROM {schema}.event e WHERE e.position > f.position"
            " ORDER BY e.position LIMIT 1))), 0) END",
        ),
        field(
            "projected_until",
            INSTANT,
            "When the last event that they reflect was written down",
            "f.recorded_at",
            null="in an empty log",
        ),
        field(
            "shards_held",
            BIGINT,
            "Parts of the work, of 16, that a replica holds a lease on",
            "(SELECT count(*) FROM {schema}.shard_lease l WHERE l.owner <> '' AND l.until > now())",
        ),
        field(
            "replicas",
            BIGINT,
            "Replicas that hold one",
            "(SELECT count(DISTINCT l.owner) FROM {schema}.shard_lease l"
            " WHERE l.owner <> '' AND l.until > now())",
        ),
        field(
            "open_jobs",
            BIGINT,
            "Jobs with anything left to do",
            "(SELECT count(*) FROM {schema}.job o WHERE o.open)",
        ),
        field(
            "pending_decisions",
            BIGINT,
            "Decisions that wait for their instant",
            "(SELECT count(*) FROM {schema}.decision p WHERE p.state = 'pending')",
        ),
        field(
            "overdue_decisions",
            BIGINT,
            "Those whose instant is past",
            "(SELECT count(*) FROM {schema}.decision p"
            " WHERE p.state = 'pending' AND p.due_at < now())",
        ),
        field(
            "open_effects",
            BIGINT,
            "Effects that are under way",
            "(SELECT count(*) FROM {schema}.effect o WHERE o.state = 'requested')",
        ),
        field(
            "troubled_effects",
            BIGINT,
            "Those that have met trouble",
            "(SELECT count(*) FROM {schema}.effect o"
            " WHERE o.state = 'requested' AND o.trouble <> '')",
        ),
    ),
)
