"""Every setting, with its unit, default and reason.

Read from the environment (`JOBLEDGER_…`) and from flags.
"""

import os
import socket
from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


def default_data_dir() -> Path:
    """Return where a private Postgres and the redaction key are kept.

    Of the system for root, else of the user.

    A private Postgres never runs as root; it could not reach a directory under root's home.
    """
    if os.geteuid() == 0:
        return Path("/var/lib/jobledger")
    home = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(home) / "jobledger"


class Settings(BaseSettings):
    """One installation of Jobledger."""

    model_config = SettingsConfigDict(env_prefix="JOBLEDGER_", extra="ignore")

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
    cluster: str = "default"
    """What the ledger calls this Kubernetes cluster.

    It is part of every job's identity: never change it.
    """
    kubeconfig: str = ""
    """Path of a kubeconfig. Empty: the usual places, then the Pod's service account."""
    context: str = ""
    """Context of the kubeconfig. Empty: its current one."""
    namespaces: tuple[str, ...] = ()
    """Namespaces whose RayJobs are controlled. Empty: all."""
    replica: str = Field(default_factory=socket.gethostname)
    """Name of this replica.

    A later run under the same name takes over from an earlier one at once.
    """
    lease_seconds: float = 15.0
    """How long a lease lasts; a replica that dies is replaced after at most this long."""
    poll_interval_seconds: float = 3.0
    """Pause between two questions to a Ray head about the same job. Upstream: 3."""
    ray_timeout_seconds: float = 2.0
    """Longest time one question to a Ray head may take. Upstream: 2."""
    status_check_timeout_seconds: int = 300
    """How long a head may leave every question unanswered before the attempt has failed."""
    transition_grace_seconds: int = 300
    """From the end of the Ray job until the job is concluded without its submitter."""
    submitter_finished_timeout_seconds: int = 30
    """From the end of the submitter until the Ray job must have ended."""
    retry_delay_seconds: int = 0
    """Pause before the first retry; doubles with each. 0: at once, as upstream."""
    retry_delay_max_seconds: int = 3600
    """Longest pause before a retry."""
    effect_retry_seconds: int = 10
    """Pause before a request that the API server refused is tried again.

    It doubles with every refusal, up to five minutes.
    """
    workers: int = 8
    """Threads that carry out effects and write statuses."""
    pollers: int = 8
    """Threads that ask Ray heads."""
    host: str = "127.0.0.1"
    """Address for /healthz, /readyz and /metrics."""
    port: int = 8080
    """Port for /healthz, /readyz and /metrics; 0: any free one."""
    log_format: Literal["console", "json"] = "console"
    """Form of the log lines."""
    log_level: str = "info"
    """Least important lines that are written: debug, info, warning, error."""

    def __repr__(self) -> str:
        """Return no value: some are secrets."""
        return "Settings(…)"
