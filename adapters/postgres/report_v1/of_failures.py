"""Reporting views of failures and retries."""

from jobledger.adapters.postgres.report_v1.model import (
    BOOLEAN,
    DIMENSIONS,
    INSTANT,
    INTEGER,
    NAME,
    STREAM,
    TEXT,
    ReportView,
    between,
    facts,
    field,
    later,
    one_of,
    seconds,
)
from jobledger.core.projections.reporting.attempts import QUEUED

_AFTER = "coalesce(a.ended_at < f.failed_at, false)"
"""Whether a job failed after the end of its last attempt: what that cost is not lost once more."""

FAILURES = ReportView(
    name="failures",
    meaning="One failure: of an attempt, or of a job that had none",
    order="failed_at",
    origin=(
        facts("report_failure") + " LEFT JOIN {schema}.report_attempt a"
        " ON a.stream_id = f.stream_id AND a.number = f.attempt"
    ),
    fields=(
        STREAM,
        field("number", INTEGER, "Place among the failures of the job, from 1"),
        NAME,
        *DIMENSIONS,
        field(
            "attempt",
            INTEGER,
            "Attempt that failed, or the last one, if the job failed after its end; 0: there was "
            "none",
        ),
        field("failed_at", INSTANT, "When it failed"),
        field("reason", TEXT, "Reason, as in the job's status"),
        field(
            "failure_class",
            TEXT,
            "Retry group of the cause: application, head-lost, preemption, image-pull, "
            "submission, other",
        ),
        field(
            "cause",
            TEXT,
            "What it failed of by the rules of `jobledger explain`, from the events without the "
            "kept logs",
        ),
        field("message", TEXT, "The reason for people; redacted, at most 500 characters"),
        field("exit_code", INTEGER, "Exit code of the program", null="if it is not known"),
        field("ran", BOOLEAN, "Whether the attempt got to run, or may have unseen"),
        field("retried", BOOLEAN, "Whether another attempt was granted"),
        field("final", BOOLEAN, "Whether the job ended with it"),
        seconds(
            "lost_seconds",
            "From the start of the attempt to its failure",
            f"CASE WHEN NOT {_AFTER} THEN {between('a.started_at', 'f.failed_at')} END",
            null="without an attempt, and if it had ended before",
        ),
        seconds(
            "cluster_seconds",
            "As in attempts",
            f"CASE WHEN NOT {_AFTER} THEN a.cluster_seconds END",
            null="without an attempt, and if it had ended before",
        ),
        later(
            "0108",
            field(
                "node",
                TEXT,
                "Node of the Pod in the greatest trouble, by the evidence of the failure; without "
                "one in trouble the node of all its Pods",
                null="where no evidence says it, or several nodes may be meant",
            ),
        ),
    ),
)

_SUSPENDED = (
    "coalesce((SELECT sum(date_part('epoch',"  # noqa: S608  # our own names
    " least(p.left_at, n.started_at) - greatest(p.entered_at, f.ended_at)))"
    " FROM {schema}.report_phase p WHERE p.stream_id = f.stream_id"
    f" AND p.attempt = f.number AND p.phase IN ({one_of(QUEUED)})"
    " AND p.left_at > f.ended_at AND p.entered_at < n.started_at), 0)"
)
"""How long the job was suspended between an attempt and the next one.

Those stays were entered while that attempt was the current one: by this an index finds them among
all of a job that was suspended a thousand times.
"""

RETRIES = ReportView(
    name="retries",
    meaning=(
        "One retry that was granted: the attempt that failed, and what the next one that was seen "
        "came to"
    ),
    order="granted_at",
    origin=(
        facts("report_attempt")  # noqa: S608  # our own names
        + " LEFT JOIN LATERAL (SELECT l.started_at, l.running_at, l.outcome"
        " FROM {schema}.report_attempt l"
        " WHERE l.stream_id = f.stream_id AND l.number > f.number ORDER BY l.number LIMIT 1) n"
        " ON true WHERE f.retried"
    ),
    fields=(
        STREAM,
        field("attempt", INTEGER, "The attempt that failed", "f.number"),
        NAME,
        *DIMENSIONS,
        field(
            "granted_at",
            INSTANT,
            "When the retry was granted; of a job that was found Retrying, as ended_at in attempts",
        ),
        field("reason", TEXT, "Why the attempt failed, one word"),
        field("failure_class", TEXT, "See failures"),
        field("cause", TEXT, "See failures"),
        field("counted", BOOLEAN, "Whether it used up one of backoffLimit"),
        seconds(
            "lost_seconds",
            "From the start of the failed attempt to its failure",
            between("f.started_at", "f.ended_at"),
        ),
        seconds("cluster_seconds", "Of the failed attempt: what the retry threw away", ""),
        field(
            "next_started_at",
            INSTANT,
            "When the next attempt started",
            "n.started_at",
            null="before",
        ),
        seconds(
            "wait_seconds",
            "From the failure to the start of the next attempt, without the time suspended in it",
            "CASE WHEN n.started_at > f.ended_at THEN greatest(0,"
            f" date_part('epoch', n.started_at - f.ended_at) - {_SUSPENDED})"
            " WHEN n.started_at <= f.ended_at THEN 0 END",
            null="before",
        ),
        field(
            "next_outcome",
            TEXT,
            "What the next attempt came to: see attempts; empty before",
            "coalesce(n.outcome, '')",
        ),
        field(
            "next_running_at", INSTANT, "When the next attempt ran", "n.running_at", null="before"
        ),
    ),
)

NOT_SEEN = "before, and if that was not seen"

START = ReportView(
    name="queue_and_start_latency",
    meaning="One attempt on its way from the wish to the run; what it did not come to is null",
    order="started_at",
    origin=facts("report_attempt"),
    fields=(
        STREAM,
        field("attempt", INTEGER, "From 1", "f.number"),
        NAME,
        *DIMENSIONS,
        field(
            "waiting_since",
            INSTANT,
            "Creation of the job if nothing ran before this attempt, else the last attempt's end; "
            "started_at if that was not seen",
        ),
        field("started_at", INSTANT, "When the attempt was started"),
        field("cluster_created_at", INSTANT, "As in attempts", null=NOT_SEEN),
        field("cluster_ready_at", INSTANT, "As in attempts", null=NOT_SEEN),
        field("running_at", INSTANT, "When it ran", null=NOT_SEEN),
        seconds(
            "seen_seconds",
            "From the creation of the job until the controller saw it",
            "",
            null="except in attempt 1",
        ),
        seconds(
            "queue_seconds", "Time suspended (queued) between waiting_since and started_at", ""
        ),
        seconds(
            "wait_seconds",
            "From waiting_since to started_at, without queue_seconds",
            f"greatest(0, {between('f.waiting_since', 'f.started_at')} - f.queue_seconds)",
        ),
        seconds(
            "cluster_create_seconds",
            "From the start until the RayCluster was there",
            between("f.started_at", "f.cluster_created_at"),
            null=NOT_SEEN,
        ),
        seconds(
            "cluster_ready_seconds",
            "From then until it was ready",
            between("f.cluster_created_at", "f.cluster_ready_at"),
            null=NOT_SEEN,
        ),
        seconds(
            "submit_seconds",
            "From then until the attempt ran",
            between("f.cluster_ready_at", "f.running_at"),
            null=NOT_SEEN,
        ),
        seconds(
            "start_seconds",
            "From the start until the attempt ran",
            between("f.started_at", "f.running_at"),
            null=NOT_SEEN,
        ),
        seconds(
            "total_seconds",
            "From waiting_since until the attempt ran",
            between("f.waiting_since", "f.running_at"),
            null=NOT_SEEN,
        ),
        later(
            "0114",
            field(
                "first_step_at",
                INSTANT,
                "When its program was first seen at work. RayJob: when Ray told of its job as "
                "RUNNING. TrainJob: when a first report of its training code was written down",
                null=f"{NOT_SEEN}; of a Job, and of TrainJobs that report no progress",
            ),
        ),
        later(
            "0114",
            seconds(
                "first_step_seconds",
                "From waiting_since to first_step_at",
                between("f.waiting_since", "f.first_step_at"),
                null="while first_step_at is",
            ),
        ),
    ),
)
