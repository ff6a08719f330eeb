"""Reporting views of jobs, attempts and phases."""

from jobledger.adapters.postgres.report_v1.model import (
    BIGINT,
    BOOLEAN,
    DIMENSIONS,
    INSTANT,
    INTEGER,
    JSON,
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
from jobledger.core.kinds import KINDS
from jobledger.core.projections.reporting.attempts import QUEUED

CLUSTER_SECONDS = (
    "How long its RayCluster was there, from its creation until it was gone; on a shared "
    "RayCluster, of a TrainJob and of a Job from start to end of the attempt, of a Job without the "
    "time that it was suspended in it; of one that was found under way or over, from its start; of "
    "a shared one from when it was seen ready or the attempt ran. "
    "While that lasts, up to the job's last event: see standing_since"
)

STANDING_SINCE = (
    "The job's last event, if a cluster of it was not seen to go since then: what it holds from "
    "there on is not in cluster_seconds"
)


_PAUSING = [name for name, kind in KINDS.items() if kind.log.pauses_attempts]
"""Kinds of job whose attempts go on while the job is suspended."""


def stands(attempt: str, job: str) -> str:
    """Return the condition that the cluster of an attempt is there, as far as is known.

    That is the last attempt's at most. Once the attempt has ended it is a RayCluster of its own,
    counted up to the last event because nobody saw it go. Where attempts go on while their job is
    suspended, they have no Pods meanwhile; `d` is the job's dimension.
    """
    a = attempt
    there = f"coalesce({a}.cluster_created_at, {a}.started_at)"
    counted = f"date_part('epoch', {job}.last_event_at - {there})"
    return (
        f"{a}.cluster_gone_at IS NULL AND {job}.deleted_at IS NULL"
        f" AND ({a}.cluster_seconds > 0 OR {a}.cluster_created_at IS NOT NULL"
        f" OR {a}.cluster_ready_at IS NOT NULL OR ({a}.cluster_name = ''"
        f" AND NOT {a}.cluster_shared))"
        f" AND ({a}.ended_at IS NULL OR ({a}.cluster_name <> '' AND NOT {a}.cluster_shared"
        f" AND {a}.cluster_seconds >= {counted} - 0.001))"
        f" AND NOT (d.kind IN ({one_of(_PAUSING)}) AND {job}.phase IN ({one_of(QUEUED)}))"
        " AND NOT EXISTS (SELECT FROM {schema}.report_attempt n"
        f" WHERE n.stream_id = {a}.stream_id AND n.number > {a}.number)"
    )


JOBS = ReportView(
    name="jobs",
    meaning="One job, as it stands",
    order="created_at",
    origin=(
        "{schema}.report_job f"
        " LEFT JOIN {schema}.report_dimension d ON d.dimension_id = f.dimension_id"
    ),
    fields=(
        STREAM,
        field("name", TEXT, "Name of the job's object"),
        field("uid", TEXT, "UID of the job's object"),
        *DIMENSIONS,
        field("phase", TEXT, "State it is in; New until the first one"),
        field("phase_since", INSTANT, "Since when it is in this state"),
        field(
            "outcome",
            TEXT,
            "succeeded, stopped, failed or deleted (before it ended); empty while it goes on",
        ),
        field(
            "reason", TEXT, "Why it is in this state or ended so, one word; empty if there is none"
        ),
        field("open", BOOLEAN, "Whether the controller has anything left to do for it"),
        field("created_at", INSTANT, "When the object was created in Kubernetes"),
        field("first_seen_at", INSTANT, "When the controller first saw it"),
        field("started_at", INSTANT, "When its first attempt started", null="before"),
        field(
            "running_at",
            INSTANT,
            "When an attempt first ran",
            null="before, and if that was not seen",
        ),
        field("ended_at", INSTANT, "When it reached Complete or Failed", null="before"),
        field("deleted_at", INSTANT, "When the object was seen to be gone", null="before"),
        field("last_event_at", INSTANT, "When its last event occurred"),
        field("attempts", INTEGER, "Attempts that were started"),
        field(
            "failed_attempts",
            INTEGER,
            "Attempts that ended in failure; also those that only a status tells of",
        ),
        field("retries", INTEGER, "Attempts that were granted after a failure, as far as seen"),
        field("events", INTEGER, "Events in its stream"),
        seconds(
            "duration_seconds",
            "From its creation to its end",
            between("f.created_at", "f.ended_at"),
            null="while it goes on",
        ),
        seconds("suspended_seconds", "Time spent suspended (queued), stays that are over", ""),
        seconds("running_seconds", "Time spent in Running, stays that are over", ""),
        seconds("cluster_seconds", f"Sum over its attempts. {CLUSTER_SECONDS}", ""),
        seconds(
            "wasted_cluster_seconds",
            "The part of it by attempts that ended without success, outcome unknown left out",
            "",
        ),
        field(
            "standing_since",
            INSTANT,
            STANDING_SINCE,
            "CASE WHEN EXISTS (SELECT FROM {schema}.report_attempt a"
            f" WHERE a.stream_id = f.stream_id AND {stands('a', 'f')}) THEN f.last_event_at END",
            null="if none stands",
        ),
        later(
            "0109",
            field(
                "labels",
                JSON,
                "The labels of its object, as its manifest says now",
                "f.labels::jsonb",
                null="until the service has computed it",
            ),
        ),
    ),
)

ATTEMPTS = ReportView(
    name="attempts",
    meaning="One execution of a job: on one RayCluster, or one run of its JobSet or Job",
    order="started_at",
    origin=facts("report_attempt"),
    fields=(
        STREAM,
        field("attempt", INTEGER, "From 1", "f.number"),
        NAME,
        *DIMENSIONS,
        field("cluster_name", TEXT, "RayCluster it runs on; of a TrainJob and of a Job empty"),
        field("cluster_shared", BOOLEAN, "Whether that RayCluster is not the job's own"),
        field("generation", BIGINT, "Generation of the specification it was started on"),
        field("started_at", INSTANT, "When it was started"),
        field(
            "cluster_created_at",
            INSTANT,
            "When its own RayCluster was there",
            null="before, if that was not seen, on a shared RayCluster, and of a TrainJob or Job",
        ),
        field(
            "cluster_ready_at",
            INSTANT,
            "When the RayCluster was ready",
            null="before, if that was not seen, and of a TrainJob or Job",
        ),
        field("running_at", INSTANT, "When it ran", null="before, and if that was not seen"),
        field(
            "ended_at",
            INSTANT,
            "When it ended, as its JobSet, its Job or Ray says, or the status of a RayJob that was "
            "found over; when that was found if nothing does, as where a head was lost",
            null="while it goes on",
        ),
        field(
            "cluster_gone_at",
            INSTANT,
            "When its own RayCluster was gone",
            null="before, and of a TrainJob or Job",
        ),
        field(
            "outcome",
            TEXT,
            "succeeded, stopped, failed, suspended, lost, deleted, or unknown (another "
            "controller's, whose end was not seen); empty while it goes on",
        ),
        field("reason", TEXT, "Why it ended, one word"),
        field("failure_class", TEXT, "If it failed: see failures; else empty"),
        field("cause", TEXT, "If it failed: see failures; else empty"),
        field("retried", BOOLEAN, "Whether another attempt was granted after it"),
        seconds(
            "duration_seconds",
            "From its start to its end",
            between("f.started_at", "f.ended_at"),
            null="while it goes on",
        ),
        seconds(
            "run_seconds",
            "From when it ran to its end",
            between("f.running_at", "f.ended_at"),
            null="while it goes on, and while running_at is",
        ),
        seconds("cluster_seconds", CLUSTER_SECONDS, ""),
        field(
            "standing_since",
            INSTANT,
            STANDING_SINCE,
            f"CASE WHEN {stands('f', 'j')} THEN j.last_event_at END",
            null="if it does not stand",
        ),
    ),
)

PHASES = ReportView(
    name="phases",
    meaning="One stay of a job in a state, the half-open interval from entered_at to left_at",
    order="entered_at",
    origin=facts("report_phase"),
    fields=(
        STREAM,
        field("number", INTEGER, "Place among the stays of the job, from 1"),
        NAME,
        *DIMENSIONS,
        field(
            "attempt", INTEGER, "Attempt that was current when it was entered; 0 before the first"
        ),
        field(
            "phase",
            TEXT,
            "The state; New until the first one. Empty stays are left out: where it was left and "
            "entered again in one instant, two stays of it meet",
        ),
        field(
            "next_phase",
            TEXT,
            "The state after it; empty while it lasts, and if the object was deleted",
        ),
        field("entered_at", INSTANT, "First instant of the stay"),
        field(
            "left_at",
            INSTANT,
            "First instant after the stay",
            null="while it lasts",
        ),
        seconds(
            "seconds",
            "How long it lasted",
            between("f.entered_at", "f.left_at"),
            null="while left_at is",
        ),
    ),
)
