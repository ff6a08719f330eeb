"""Create the inline projections: what the log says of each job, attempt, decision and effect."""

from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
    Integer,
    PrimaryKeyConstraint,
    SmallInteger,
    Text,
    Uuid,
    text,
)

from jobledger.adapters.postgres.schema.columns import INSTANT, column

revision = "0102"
down_revision = "0101"
branch_labels = None
depends_on = None

JOB_ID = "UUIDv7 of the job: creation of the Kubernetes object, hash of (cluster, UID)"


def upgrade() -> None:
    create_job()
    create_attempt()
    create_decision()
    create_effect()


def create_job() -> None:
    op.create_table(
        "job",
        column("stream_id", Uuid, JOB_ID),
        column("shard", SmallInteger, "Part of the work it belongs to, from 0"),
        column("version", Integer, "Version of the stream that this row reflects"),
        column("cluster", Text, "Kubernetes cluster, as this installation calls it"),
        column("kind", Text, "RayJob or TrainJob"),
        column("namespace", Text, "Namespace of the object"),
        column("name", Text, "Name of the object"),
        column("uid", Text, "UID of the object"),
        column("generation", BigInteger, "Generation of the specification last seen"),
        column("phase", Text, "RayJob: job deployment status; empty while new"),
        column("job_status", Text, "RayJob: what Ray says of the entrypoint"),
        column("reason", Text, "Why it is in this phase, one word; empty if there is none"),
        column("message", Text, "The same for people; redacted"),
        column("attempt", Integer, "Number of the current or last attempt, from 1; 0 before"),
        column("retries", Integer, "How many retries were granted"),
        column("succeeded", Integer, "How many attempts succeeded"),
        column("failed", Integer, "How many attempts failed"),
        column("ray_cluster_name", Text, "RayCluster of the current or last attempt"),
        column("ray_job_id", Text, "Submission id of the current or last attempt"),
        column("created_at", INSTANT, "When the object was created in Kubernetes"),
        column("first_seen_at", INSTANT, "When the controller first saw it"),
        column("started_at", INSTANT, "When the current attempt started", nullable=True),
        column("ended_at", INSTANT, "When it reached Complete or Failed", nullable=True),
        column("deleted_at", INSTANT, "When the object was seen to be gone", nullable=True),
        column("open", Boolean, "Whether anything is left to do"),
        column("last_event_at", INSTANT, "When its last event occurred"),
        column(
            "recorded",
            Boolean,
            "Whether another controller decides about it, and it is only recorded",
        ),
        PrimaryKeyConstraint("stream_id", name="job_pkey"),
        comment="Current state of each job; follows from the log",
        postgresql_with={"fillfactor": 70},
    )
    op.create_index("job_open", "job", ["stream_id"], postgresql_where=text("open"))
    op.create_index(
        "job_there",
        "job",
        ["stream_id"],
        postgresql_where=text("NOT open AND deleted_at IS NULL"),
    )
    op.create_index("job_name", "job", ["namespace", "name"])


def create_attempt() -> None:
    op.create_table(
        "attempt",
        column("stream_id", Uuid, JOB_ID),
        column("number", Integer, "From 1"),
        column("generation", BigInteger, "Generation of the specification it was started on"),
        column("ray_cluster_name", Text, "RayCluster it runs on"),
        column("ray_job_id", Text, "Submission id"),
        column("started_at", INSTANT, "When it was started"),
        column("running_at", INSTANT, "When the cluster was ready and it ran", nullable=True),
        column("ended_at", INSTANT, "When it ended", nullable=True),
        column(
            "outcome",
            Text,
            "succeeded, stopped, failed, suspended, deleted; empty while it goes on",
        ),
        column("reason", Text, "Why it ended, one word"),
        column("message", Text, "The same for people; redacted"),
        column("job_status", Text, "The last thing Ray said of the entrypoint"),
        column("retried", Boolean, "Whether a retry was granted after it"),
        column(
            "inferred", Boolean, "Whether its life is inferred from what another controller did"
        ),
        PrimaryKeyConstraint("stream_id", "number", name="attempt_pkey"),
        comment="Executions of jobs; follow from the log",
        postgresql_with={"fillfactor": 70},
    )


def create_decision() -> None:
    op.create_table(
        "decision",
        column("decision_id", Uuid, "UUIDv5 of the observation, kind and subject"),
        column("stream_id", Uuid, JOB_ID),
        column("shard", SmallInteger, "Part of the work it belongs to, from 0"),
        column("attempt", Integer, "Attempt it was made in; 0 before the first"),
        column("kind", Text, "retry, active_deadline, ttl_shutdown and the like"),
        column("state", Text, "pending, fired or cancelled"),
        column("due_at", INSTANT, "When it is to be carried out"),
        column("scheduled_at", INSTANT, "When it was made"),
        column("resolved_at", INSTANT, "When it fired or was cancelled", nullable=True),
        column("cause", Text, "Why it was made, in words"),
        column("resolution", Text, "Why it was cancelled, or what firing it brought about"),
        PrimaryKeyConstraint("stream_id", "decision_id", name="decision_pkey"),
        comment="What the controller resolved to do at a later instant; follows from the log",
    )
    op.create_index(
        "decision_due", "decision", ["due_at"], postgresql_where=text("state = 'pending'")
    )


def create_effect() -> None:
    op.create_table(
        "effect",
        column("effect_id", Uuid, "UUIDv5 of the observation, kind and target"),
        column("stream_id", Uuid, JOB_ID),
        column("shard", SmallInteger, "Part of the work it belongs to, from 0"),
        column("attempt", Integer, "Attempt it belongs to; 0 before the first"),
        column(
            "kind",
            Text,
            "What is done: create_cluster, delete_cluster, submit_entrypoint and the like",
        ),
        column("target", Text, "What it acts on: a name, or a submission id at an address"),
        column("state", Text, "requested, succeeded, failed or superseded"),
        column("requested_at", INSTANT, "When it was decided on"),
        column("ended_at", INSTANT, "When it ended", nullable=True),
        column("trouble", Text, "Latest kind of failure that was met; empty if none"),
        PrimaryKeyConstraint("stream_id", "effect_id", name="effect_pkey"),
        comment="What the controller does outside; follows from the log",
    )
    op.create_index(
        "effect_requested", "effect", ["requested_at"], postgresql_where=text("state = 'requested'")
    )


def downgrade() -> None:
    for table in ("effect", "decision", "attempt", "job"):
        op.drop_table(table)
