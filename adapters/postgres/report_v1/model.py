"""Describes a reporting view: columns with type, unit, meaning and source."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

TEXT, INTEGER, BIGINT, BOOLEAN = "text", "integer", "bigint", "boolean"
INSTANT, SECONDS, UUID = "timestamp with time zone", "double precision", "uuid"
JSON = "jsonb"


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One column of a view."""

    name: str
    kind: str
    """Type, as Postgres prints it."""
    meaning: str
    source: str
    """SQL expression that it is; the view's `origin` says what the aliases are."""
    unit: str = ""
    null: str = ""
    """When it is null; empty: never."""
    since: str = ""
    """The revision that brought it; empty: it came with its view."""

    @property
    def comment(self) -> str:
        """Return the comment in the database: meaning, unit, when it is null."""
        unit = f" ({self.unit})" if self.unit else ""
        return f"{self.meaning}{unit}" + (f"; null {self.null}" if self.null else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportView:
    """One view: one fact per row."""

    name: str
    meaning: str
    """What one row is."""
    fields: Sequence[Field]
    origin: str
    """The FROM clause and what follows it; `{schema}` stands for the ledger's schema."""
    order: str
    """Column by which a range of time is best asked for; empty: there is none."""
    since: str = ""
    """The revision that brought it; empty: it came with the first."""


def field(
    name: str, kind: str, meaning: str, source: str = "", *, unit: str = "", null: str = ""
) -> Field:
    """Return a column; without a source it is that of the fact table."""
    return Field(
        name=name, kind=kind, meaning=meaning, source=source or f"f.{name}", unit=unit, null=null
    )


def later(revision: str, added: Field) -> Field:
    """Return a column that a revision added; a view can only be given more at its end."""
    return replace(added, since=revision)


def seconds(name: str, meaning: str, source: str, *, null: str = "") -> Field:
    """Return a column that is a length of time."""
    return field(name, SECONDS, meaning, source, unit="seconds", null=null)


def one_of(words: Iterable[str]) -> str:
    """Return words of our own as a list of SQL: what stands behind `IN (`."""
    return ", ".join(f"'{word}'" for word in sorted(words))


def between(earlier: str, later: str) -> str:
    """Return the expression of the seconds from one instant to another, never below 0.

    Null if one of them is (`greatest` would make that 0).
    """
    return f"CASE WHEN {later} < {earlier} THEN 0 ELSE date_part('epoch', {later} - {earlier}) END"


STREAM = field("stream_id", UUID, "The job: the same in all views")
NAME = field("name", TEXT, "Name of the job's object", "j.name")
DIMENSIONS = (
    field("cluster", TEXT, "Kubernetes cluster, as the installation calls it", "d.cluster"),
    field("namespace", TEXT, "Namespace of the job", "d.namespace"),
    field("kind", TEXT, "RayJob, TrainJob or Job", "d.kind"),
    field(
        "framework",
        TEXT,
        "ray; of a TrainJob what its runtime's name begins with if that is one (torch, jax and the "
        "like), or empty; of a Job empty",
        "d.framework",
    ),
    field(
        "runtime",
        TEXT,
        "RayJob: how its entrypoint is submitted (K8sJobMode and the like); TrainJob: its runtime; "
        "Job: empty",
        "d.runtime",
    ),
    field("queue", TEXT, "Kueue's queue (label kueue.x-k8s.io/queue-name), or empty", "d.queue"),
    field(
        "user_name",
        TEXT,
        "Who it belongs to: the first label of the setting report_user_labels, or empty",
        "d.user_name",
    ),
    field("image", TEXT, "Image of the head or of the trainer, or empty", "d.image"),
)
"""How every fact can be grouped; as the job's manifest says now."""


def facts(table: str) -> str:
    """Return the FROM clause over a table of facts.

    Joins that a query does not need are left out by the planner: they are left joins on a key.
    """
    return (
        f"{{schema}}.{table} f"
        " LEFT JOIN {schema}.report_job j ON j.stream_id = f.stream_id"
        " LEFT JOIN {schema}.report_dimension d ON d.dimension_id = f.dimension_id"
    )
