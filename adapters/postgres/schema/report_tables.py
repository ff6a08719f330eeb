"""The tables behind the reporting views: facts, dimensions, checkpoint.

They follow from the log and are written by the projector alone, some time after the events. They
are no interface: what may be relied upon are the views of `adapters.postgres.report_v1`.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from jobledger.adapters.postgres.report_v1.model import one_of
from jobledger.adapters.postgres.report_v1.views import VIEWS
from jobledger.adapters.postgres.schema.columns import INSTANT, Kind, column, single
from jobledger.core.projections.reporting.attempts import QUEUED

FACTS = (
    "report_job",
    "report_attempt",
    "report_phase",
    "report_failure",
    "report_decision",
    "report_gap",
    "report_activity",
)
"""Tables whose rows each belong to one job; a rebuild puts new ones in place of all of them."""


_MEANINGS = {
    "dimension_id": "Key of report_dimension",
    "number": "Place among the facts of the job, from 1",
    "counted": "Whether the retry after it used up one of backoffLimit",
    "granted_at": "When the retry after it was granted",
    "position": "Position up to which the facts are",
    "recorded_at": "When the event there was written down",
    "lateness_ms_sum": "Sum of the latenesses, in milliseconds",
    "hour": "First instant of the hour (UTC)",
    "resources": "What it held, a record for each thing, with the columns of the view resources",
}
"""What no view says of a column, or says in other words."""


_COUNTED = (
    "events",
    "observations",
    "effects_requested",
    "effects_succeeded",
    "effects_faltered",
    "effects_failed",
    "effects_superseded",
    "decisions_fired",
    "decisions_cancelled",
    "status_writes",
    "failed_status_checks",
    "gaps",
)
"""Columns of numbers that are counted in an hour."""


def add_report_tables(metadata: MetaData) -> None:
    """Declare the tables in the metadata."""
    _add_checkpoint(metadata)
    _add_jobs(metadata)
    _add_attempts(metadata)
    _add_failures(metadata)
    _add_work(metadata)
    _add_prices(metadata)


def _column(name: str, kind: Kind, *, nullable: bool = False) -> Column[Any]:
    return Column(name, kind, nullable=nullable, comment=_MEANINGS.get(name) or _of_a_view(name))


def _of_a_view(name: str) -> str:
    """Return what the first view that has a column of that name says of it."""
    return next(field.comment for view in VIEWS for field in view.fields if field.name == name)


def _of_job(*more: str) -> list[Any]:
    """Return the columns that every fact begins with, and its key."""
    return [_column("stream_id", Uuid), *(_column(name, Integer) for name in more)]


def _add_checkpoint(metadata: MetaData) -> None:
    Table(
        "report_checkpoint",
        metadata,
        single(),
        _column("position", BigInteger),
        _column("recorded_at", INSTANT, nullable=True),
        PrimaryKeyConstraint("single", name="report_checkpoint_pkey"),
        comment="How far the reporting tables are: one row",
    )
    Table(
        "report_dimension",
        metadata,
        Column(
            "dimension_id",
            BigInteger,
            nullable=False,
            autoincrement=False,
            comment="Hash of the other columns",
        ),
        *(
            _column(name, Text)
            for name in (
                "cluster",
                "namespace",
                "kind",
                "framework",
                "runtime",
                "queue",
                "user_name",
                "image",
            )
        ),
        PrimaryKeyConstraint("dimension_id", name="report_dimension_pkey"),
        comment="How facts can be grouped: every combination that was met; the key is its hash",
    )


def _add_jobs(metadata: MetaData) -> None:
    Table(
        "report_job",
        metadata,
        *_of_job(),
        _column("dimension_id", BigInteger),
        _column("name", Text),
        _column("uid", Text),
        _column("phase", Text),
        _column("phase_since", INSTANT),
        _column("outcome", Text),
        _column("reason", Text),
        _column("open", Boolean),
        _column("created_at", INSTANT),
        _column("first_seen_at", INSTANT),
        _column("started_at", INSTANT, nullable=True),
        _column("running_at", INSTANT, nullable=True),
        _column("ended_at", INSTANT, nullable=True),
        _column("deleted_at", INSTANT, nullable=True),
        _column("last_event_at", INSTANT),
        _column("attempts", Integer),
        _column("failed_attempts", Integer),
        _column("retries", Integer),
        _column("events", Integer),
        _column("suspended_seconds", Double),
        _column("running_seconds", Double),
        _column("cluster_seconds", Double),
        _column("wasted_cluster_seconds", Double),
        _column("labels", Text, nullable=True),
        PrimaryKeyConstraint("stream_id", name="report_job_pkey"),
        Index("report_job_created", "created_at"),
        Index("report_job_ended", "ended_at"),
        Index("report_job_open", "phase_since", postgresql_where=text("open")),
        Index("report_job_name", "name"),
        Index("report_job_labels", text("(labels::jsonb)"), postgresql_using="gin"),
        comment="Behind the view jobs",
    )


def _add_attempts(metadata: MetaData) -> None:
    Table(
        "report_attempt",
        metadata,
        *_of_job("number"),
        _column("dimension_id", BigInteger),
        _column("cluster_name", Text),
        _column("cluster_shared", Boolean),
        _column("generation", BigInteger),
        _column("started_at", INSTANT),
        _column("cluster_created_at", INSTANT, nullable=True),
        _column("cluster_ready_at", INSTANT, nullable=True),
        _column("running_at", INSTANT, nullable=True),
        _column("ended_at", INSTANT, nullable=True),
        _column("cluster_gone_at", INSTANT, nullable=True),
        _column("outcome", Text),
        _column("reason", Text),
        _column("failure_class", Text),
        _column("cause", Text),
        _column("retried", Boolean),
        _column("counted", Boolean),
        _column("granted_at", INSTANT, nullable=True),
        _column("waiting_since", INSTANT),
        _column("seen_seconds", Double, nullable=True),
        _column("queue_seconds", Double),
        _column("cluster_seconds", Double),
        _column("resources", JSONB, nullable=True),
        _column("first_step_at", INSTANT, nullable=True),
        PrimaryKeyConstraint("stream_id", "number", name="report_attempt_pkey"),
        Index("report_attempt_started", "started_at"),
        Index("report_attempt_granted", "granted_at", postgresql_where=text("retried")),
        comment="Behind the views attempts, resources, retries and queue_and_start_latency",
    )
    Table(
        "report_phase",
        metadata,
        *_of_job("number"),
        _column("dimension_id", BigInteger),
        _column("attempt", Integer),
        _column("phase", Text),
        _column("next_phase", Text),
        _column("entered_at", INSTANT),
        _column("left_at", INSTANT, nullable=True),
        PrimaryKeyConstraint("stream_id", "number", name="report_phase_pkey"),
        Index("report_phase_entered", "entered_at"),
        Index(
            "report_phase_queued",
            "stream_id",
            "attempt",
            postgresql_where=text(f"phase IN ({one_of(QUEUED)})"),
        ),
        comment="Behind the view phases",
    )


def _add_failures(metadata: MetaData) -> None:
    Table(
        "report_failure",
        metadata,
        *_of_job("number"),
        _column("dimension_id", BigInteger),
        _column("attempt", Integer),
        _column("failed_at", INSTANT),
        _column("reason", Text),
        _column("failure_class", Text),
        _column("cause", Text),
        _column("message", Text),
        _column("exit_code", Integer, nullable=True),
        _column("ran", Boolean),
        _column("retried", Boolean),
        _column("final", Boolean),
        _column("node", Text, nullable=True),
        PrimaryKeyConstraint("stream_id", "number", name="report_failure_pkey"),
        Index("report_failure_failed", "failed_at"),
        Index("report_failure_cause", "cause", "stream_id"),
        comment="Behind the view failures",
    )


def _add_work(metadata: MetaData) -> None:
    Table(
        "report_decision",
        metadata,
        _column("stream_id", Uuid),
        _column("decision_id", Uuid),
        _column("dimension_id", BigInteger),
        _column("attempt", Integer),
        _column("decision", Text),
        _column("state", Text),
        _column("scheduled_at", INSTANT),
        _column("due_at", INSTANT),
        _column("resolved_at", INSTANT, nullable=True),
        _column("lateness_ms", Double, nullable=True),
        _column("cause", Text),
        _column("resolution", Text),
        PrimaryKeyConstraint("stream_id", "decision_id", name="report_decision_pkey"),
        Index("report_decision_due", "due_at"),
        comment="Behind the view decisions",
    )
    Table(
        "report_gap",
        metadata,
        *_of_job("number"),
        _column("dimension_id", BigInteger),
        _column("source", Text),
        _column("since_at", INSTANT),
        _column("until_at", INSTANT),
        _column("found_at", INSTANT),
        _column("reason", Text),
        PrimaryKeyConstraint("stream_id", "number", name="report_gap_pkey"),
        Index("report_gap_since", "since_at"),
        comment="Behind the view observation_gaps",
    )
    Table(
        "report_activity",
        metadata,
        _column("stream_id", Uuid),
        _column("hour", INSTANT),
        _column("dimension_id", BigInteger),
        *(_column(name, Integer) for name in _COUNTED),
        _column("lateness_ms_max", Double, nullable=True),
        _column("lateness_ms_sum", Double),
        PrimaryKeyConstraint("stream_id", "hour", name="report_activity_pkey"),
        Index("report_activity_hour", "hour"),
        comment="Behind the view controller_hours: what was written down of a job in an hour",
    )


def _add_prices(metadata: MetaData) -> None:
    Table(
        "resource_price",
        metadata,
        column("resource", Text, "cpu, memory or accelerator"),
        column("accelerator", Text, "Which accelerator, as in the view resources; empty: any"),
        column("valid_from", INSTANT, "The first instant at which an attempt that starts has it"),
        column("price_per_hour", Double, "Of one core, GiB or accelerator, in money of any kind"),
        PrimaryKeyConstraint("resource", "accelerator", "valid_from", name="resource_price_pkey"),
        comment="The list of prices, which `jobledger db prices` keeps; nothing follows from it",
    )
