"""Reporting view of what attempts held: CPUs, memory, accelerators, and what they cost."""

from jobledger.adapters.postgres.report_v1.model import (
    DIMENSIONS,
    INSTANT,
    INTEGER,
    JSON,
    NAME,
    SECONDS,
    STREAM,
    TEXT,
    Field,
    ReportView,
    facts,
    field,
)
from jobledger.adapters.postgres.report_v1.of_jobs import STANDING_SINCE, stands

_HELD = (
    "resource text, accelerator text, amount float8, waiting_seconds float8,"
    " running_seconds float8, idle_seconds float8, stage text"
)

_JOINED = (
    f" CROSS JOIN LATERAL jsonb_to_recordset(f.resources) AS r ({_HELD})"  # noqa: S608  # our own names
    " LEFT JOIN LATERAL (SELECT o.price_per_hour FROM {schema}.resource_price o"
    " WHERE o.resource = r.resource AND o.accelerator IN (r.accelerator, '')"
    " AND o.valid_from <= f.started_at"
    " ORDER BY o.accelerator = r.accelerator DESC, o.valid_from DESC LIMIT 1) p ON true"
)


def _held(name: str, meaning: str, source: str = "") -> Field:
    return field(name, SECONDS, meaning, source or f"r.{name}", unit="amount times seconds")


RESOURCES = ReportView(
    name="resources",
    since="0109",
    meaning=(
        "One thing that an attempt held: CPUs, memory, or one kind of accelerator, as its Pods "
        "request them"
    ),
    order="started_at",
    origin=facts("report_attempt") + _JOINED,
    fields=(
        STREAM,
        field("attempt", INTEGER, "From 1", "f.number"),
        field("resource", TEXT, "cpu, memory or accelerator", "r.resource"),
        field(
            "accelerator",
            TEXT,
            "Which accelerator: the model that a nodeSelector names, or the name of the resource; "
            "of CPUs and memory those of the same attempt, with commas; empty: there are none",
            "CASE WHEN r.accelerator <> '' THEN r.accelerator ELSE coalesce("
            "(SELECT string_agg(b.accelerator, ',' ORDER BY b.accelerator)"
            " FROM jsonb_to_recordset(f.resources) AS b (accelerator text)"
            " WHERE b.accelerator <> ''), '') END",
        ),
        NAME,
        *DIMENSIONS,
        field("labels", JSON, "As in jobs", "j.labels::jsonb", null="as in jobs"),
        field("started_at", INSTANT, "When the attempt was started"),
        field("outcome", TEXT, "As in attempts"),
        field("failure_class", TEXT, "See failures; empty unless the attempt failed"),
        field("cause", TEXT, "See failures; empty unless the attempt failed"),
        field(
            "amount",
            SECONDS,
            "How much of it at last",
            "r.amount",
            unit="cores, GiB or accelerators",
        ),
        _held(
            "held_seconds",
            "How long all of it was held, while cluster_seconds of attempts count; with "
            "autoscaling, as much as there was at each time",
            "(r.waiting_seconds + r.running_seconds + r.idle_seconds)",
        ),
        _held("waiting_seconds", "The part of it before the attempt ran"),
        _held("running_seconds", "The part of it while it ran"),
        _held("idle_seconds", "The part of it after its end"),
        field(
            "stage",
            TEXT,
            "What the attempt was at with the job's last event, and is while it stands: waiting, "
            "running or idle",
            "r.stage",
        ),
        field(
            "standing_since",
            INSTANT,
            STANDING_SINCE.replace("cluster_seconds", "held_seconds"),
            f"CASE WHEN {stands('f', 'j')} THEN j.last_event_at END",
            null="if it does not stand",
        ),
        field(
            "price_per_hour",
            SECONDS,
            "Of one core, GiB or accelerator, by the list of prices as it was at started_at; that "
            "of the accelerator, or else that of all of them",
            "p.price_per_hour",
            unit="money of the list of prices",
            null="if the list has none",
        ),
    ),
)
