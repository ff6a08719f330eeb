"""All settings, each with unit, default and reason.

Read from the environment (`JOBLEDGER_…`) and from flags.
"""

import os
import socket
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AliasChoices, BeforeValidator, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from jobledger.core.projections.reporting.user_labels import USER_LABELS
from jobledger.core.values.durations import SECONDS_MAX

Name = Annotated[str, Field(min_length=1)]
Namespace = Annotated[str, Field(pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63)]
"""Never empty: to Kubernetes that is every namespace, and `-n "$UNSET"` means none."""
Count = Annotated[int, Field(ge=1, le=1000)]
"""Of threads. None would do nothing, and say nothing."""
Pause = Annotated[int, Field(ge=0, le=SECONDS_MAX)]
Patience = Annotated[int, Field(ge=1, le=SECONDS_MAX)]
"""Seconds after which something has failed: none would fail what is well."""
Moment = Annotated[float, Field(gt=0, le=3600)]
"""Seconds between two looks: none would leave no pause at all."""
LogLevel = Annotated[
    Literal["debug", "info", "warning", "error"],
    BeforeValidator(lambda said: said.lower() if isinstance(said, str) else said),
]

PREFIX = "JOBLEDGER_"
"""What the name of every variable begins with; some settings have upstream's name as well."""

OF_THE_SYSTEM = Path("/var/lib/jobledger")
"""Where root's data are, and those of a user without a home (who has to be let in there)."""


def default_data_dir() -> Path:
    """Return where a private Postgres and the redaction key are kept.

    Of the system for root, else of the user.

    A private Postgres never runs as root; it could not reach a directory under root's home.
    """
    given = Path(os.environ.get("XDG_DATA_HOME", ""))
    if os.geteuid() == 0:
        return OF_THE_SYSTEM
    if given.is_absolute():  # as the XDG specification has it: others are ignored
        return given / "jobledger"
    try:
        return Path.home() / ".local" / "share" / "jobledger"
    except RuntimeError:  # no HOME, and no entry in passwd, as with any number in a container
        return OF_THE_SYSTEM


class Settings(BaseSettings):
    """One installation of Jobledger."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore")

    database_url: SecretStr = Field(
        default=SecretStr(""),
        validation_alias=AliasChoices("DATABASE_URL", "JOBLEDGER_DATABASE_URL", "database_url"),
    )
    """Postgres to use, as `postgresql://user:password@host:port/database`.

    Without it, a private server of our own is started in data_dir.
    """
    data_dir: Path = Field(default_factory=default_data_dir)
    """Directory of the private Postgres and of the redaction key."""
    redaction_key: SecretStr = SecretStr("")
    """Key of the digests that stand in place of secrets.

    All replicas need the same. Without it, a file in data_dir holds one.
    """
    cluster: Name = "default"
    """What the ledger calls this Kubernetes cluster.

    It is part of every job's identity: never change it.
    """
    kubeconfig: str = ""
    """Path of a kubeconfig. Empty: the usual places, then the Pod's service account."""
    context: str = ""
    """Context of the kubeconfig. Empty: its current one."""
    namespaces: tuple[Namespace, ...] = ()
    """Namespaces that are watched. Empty: all. JOBLEDGER_CONTROL says whose jobs are controlled."""
    job_kinds: tuple[Literal["RayJob", "TrainJob", "Job"], ...] = Field(
        default=("RayJob", "TrainJob"), min_length=1
    )
    """Kinds of job that are controlled, as far as the API server serves them.

    One whose definition is installed later is taken up then.
    """
    control: Literal["all", "namespaces", "managed-by", "nothing"] = "all"
    """Which of the jobs that are watched are controlled; the others are only recorded.

    all. namespaces: those in control_namespaces, and RayJobs with spec.managedBy
    jobledger.dev/controller. managed-by: only the latter. nothing: recorder mode (--observe-only),
    which writes nothing to the cluster.
    """
    control_namespaces: tuple[Namespace, ...] = ()
    """Namespaces whose jobs are controlled, with control namespaces."""
    claim_namespace: Namespace = "jobledger"
    """Namespace of the Leases by which ledgers that control the same jobs notice each other.

    The same for all of them. It has to exist, and to be out of reach of tenants.
    """
    take_over: bool = False
    """Whether jobs that another controller has driven until the start are taken over.

    Set it once that controller is switched off. What it writes after the start is still minded:
    the jobs of such a namespace are only recorded.
    """
    trainjob_conditions: Literal["unless-running", "seed", "upstream"] = "unless-running"
    """Which conditions a TrainJob shows.

    unless-running: Created comes first, and steps back while the job runs and shows no other, for
    the Kubeflow SDK knows a running job by its having no conditions. seed: it is always shown.
    upstream: what Trainer 2.3 writes, never Created.
    """
    trainjob_propagate_conditions: bool = False
    """Whether plugins may show conditions of their own on a TrainJob, as of its JobSet's start.

    What they make them of is watched then as well.
    """
    trainer_status_url: str = ""
    """Where Pods of TrainJobs report their progress, without a path; empty: they are not told.

    As `https://jobledger-trainer-status.jobledger.svc:10443`, where `jobledger trainer-status` is
    served. It is upstream's feature TrainJobStatus, which is off there as well.
    """
    trainer_status_authority: str = "jobledger/jobledger-trainer-status-ca"
    """Namespace and name of the ConfigMap that says by whom that server's certificate is signed."""
    replica: Name = Field(default_factory=socket.gethostname)
    """Name of this replica. Replicas that are to work beside each other need different ones.

    A later run under the same name takes over from an earlier one at once.
    """
    lease_seconds: Moment = 15.0
    """How long a lease lasts; a replica that dies is replaced after at most this long.

    It is renewed, and the list of replicas read, five times as often; one that does not hear the
    API server for four tenths of it, while others do, gives its shards up.
    """
    poll_interval_seconds: Moment = 3.0
    """Pause between two questions to a Ray head about the same job. Upstream: 3."""
    log_streams_max: int = Field(default=2000, ge=0)
    """Running jobs without a submitter whose logs are followed, so that their ends are noticed at
    once; others are asked about more often. At most a quarter of the files that may be open.
    """
    ray_timeout_seconds: Moment = 2.0
    """Longest time one question to a Ray head may take. Upstream: 2."""
    status_check_timeout_seconds: Patience = Field(
        default=300,
        validation_alias=AliasChoices(
            "JOBLEDGER_STATUS_CHECK_TIMEOUT_SECONDS",
            "RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS",
            "status_check_timeout_seconds",
        ),
    )
    """How long a head may leave every question unanswered before the attempt has failed."""
    transition_grace_seconds: Pause = Field(
        default=300,
        validation_alias=AliasChoices(
            "JOBLEDGER_TRANSITION_GRACE_SECONDS",
            "RAYJOB_DEPLOYMENT_STATUS_TRANSITION_GRACE_PERIOD_SECONDS",
            "transition_grace_seconds",
        ),
    )
    """From the end of the Ray job until the job is concluded without its submitter."""
    submitter_finished_timeout_seconds: Pause = 30
    """From the end of the submitter until the Ray job must have ended."""
    retry_delay_seconds: Pause = 0
    """Pause before the first retry; doubles with each. 0: at once, as upstream."""
    retry_delay_max_seconds: Pause = 3600
    """Longest pause before a retry."""
    evidence_timeout_seconds: Pause = 10
    """How long a failure waits for a look at its Pods, where a job's retry policy needs one."""
    job_events_per_hour: int = Field(default=6000, ge=100)
    """How many events a job may have in an hour before it is slowed; half of them at once.

    What is seen of a slowed job waits, the latest look at each thing counts. It is never cut off.
    """
    effect_retry_seconds: Patience = 10
    """Pause before a request that the API server refused is tried again.

    It doubles with every refusal, up to five minutes.
    """
    cluster_domain: str = Field(
        default="cluster.local",
        validation_alias=AliasChoices(
            "JOBLEDGER_CLUSTER_DOMAIN", "CLUSTER_DOMAIN", "cluster_domain"
        ),
    )
    """DNS domain of the Kubernetes cluster."""
    login_shell: bool = Field(
        default=False,
        validation_alias=AliasChoices("JOBLEDGER_LOGIN_SHELL", "ENABLE_LOGIN_SHELL", "login_shell"),
    )
    """Whether submitters run their command in a login shell."""
    head_cluster_ip: bool = Field(
        default=False,
        validation_alias=AliasChoices(
            "JOBLEDGER_HEAD_CLUSTER_IP", "ENABLE_RAY_HEAD_CLUSTER_IP_SERVICE", "head_cluster_ip"
        ),
    )
    """Whether the Service `<rayjob>-head-svc` gets an address of its own."""
    sidecar_restarts: bool = False
    """Whether the submitter of SidecarMode is started again when it fails (Kubernetes 1.35)."""
    batch_scheduler: Literal["", "volcano", "yunikorn", "kai-scheduler"] = ""
    """Who places the Pods of a RayJob together; the same as KubeRay's flag --batch-scheduler.

    Empty: nobody. With volcano, a PodGroup is made for every job.
    """
    delete_job_after_finish: bool = Field(
        default=False,
        validation_alias=AliasChoices(
            "JOBLEDGER_DELETE_JOB_AFTER_FINISH",
            "DELETE_RAYJOB_CR_AFTER_JOB_FINISHES",
            "delete_job_after_finish",
        ),
    )
    """Whether shutdownAfterJobFinishes deletes the RayJob itself, and not only its RayCluster."""
    workers: Count = 8
    """Threads that carry out effects and write statuses; a namespace alone has three quarters."""
    pollers: Count = 8
    """Threads that ask Ray heads."""
    one_core: bool = True
    """Whether all threads of `jobledger run` stay on one core, the freest, and move with it.

    One thread of Python computes at a time, and what they hand each other stays in its caches: a
    fifth less CPU, and more jobs per second.
    """
    huge_pages: bool = True
    """Whether `jobledger run` asks the kernel to keep its memory in pages of 2 MiB.

    A tenth less CPU. Where transparent huge pages are switched off nothing changes.
    """
    host: str = "127.0.0.1"
    """Address to serve on; `::` takes connections over IPv6 and over IPv4."""
    port: int = Field(default=8080, ge=0, le=65535)
    """Port for /healthz, /readyz and /metrics; 0: any free one."""
    evidence_seconds: float = Field(default=3.0, ge=0, le=3600)
    """How long capturing evidence may take, before a deletion and after a failure; 0: none is."""
    api_token_file: Path | None = None
    """File with the bearer token that readers of the JSON API must send.

    Without it, and without api_token_review, the API is served on a loopback address only.
    """
    api_token_review: bool = False
    """Let Kubernetes judge the tokens of readers of the JSON API.

    Who may get jobs of every kind and the logs of Pods, in the whole cluster, may read.
    """
    reports: bool = True
    """Whether `jobledger run` carries on the tables behind the reporting views."""
    report_user_labels: tuple[str, ...] = USER_LABELS
    """Labels, or else annotations, of a job that say whose it is; the first that is there counts.

    After a change: `jobledger rebuild --reports`.
    """
    seal_every_seconds: Pause = 3600
    """Pause between two seals of what is new in the log; 0: `jobledger run` makes none."""
    seals_dir: Path | None = None
    """Directory in which every seal is kept as a file too. Empty: only in the database."""
    seal_key_file: Path | None = None
    """Private key (PEM, Ed25519) that seals are signed with. Empty: they are not signed."""
    log_format: Literal["console", "json"] = "console"
    """Form of the log lines."""
    log_level: LogLevel = "info"
    """Least important lines that are written: debug, info, warning, error."""

    def __repr__(self) -> str:
        """Return no value: some are secrets."""
        return "Settings(…)"


def mistyped(variables: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the variables that set nothing, and whose name is nearly that of a setting, with that.

    Others of our prefix may be Kubernetes' (`JOBLEDGER_SERVICE_HOST`) or somebody's own.
    """
    known = [f"{PREFIX}{name.upper()}" for name in Settings.model_fields]
    for name in sorted(variables):
        if name.startswith(PREFIX) and name not in known:
            for meant in get_close_matches(name, known, n=1, cutoff=0.85):
                yield name, meant
