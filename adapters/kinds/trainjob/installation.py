"""What TrainJobs need to know of this installation, from settings."""

from dataclasses import dataclass, field

from jobledger.adapters.kinds.trainjob.plugins import builder, trainjob_plugins
from jobledger.adapters.settings import Settings
from jobledger.core.trainjob.building.framework import Plugin
from jobledger.core.trainjob.plugins import all_plugins
from jobledger.core.trainjob.policy import ConditionStyle, TrainPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainInstallation:
    """What holds for all TrainJobs here."""

    policy: TrainPolicy = field(default_factory=TrainPolicy)
    plugins: tuple[Plugin, ...] = field(default_factory=all_plugins)
    """What builds the objects of TrainJobs, in the order in which they are asked."""
    builder: str = ""
    """Versions of what builds them: this program and the plugins of others."""
    status_authority: tuple[str, str] = ("", "")
    """Namespace and name of the ConfigMap with the authority of the trainer-status server."""


def train_installation(settings: Settings) -> TrainInstallation:
    """Return how TrainJobs are judged and built here."""
    return TrainInstallation(
        policy=TrainPolicy(
            conditions=ConditionStyle(settings.trainjob_conditions),
            propagates=settings.trainjob_propagate_conditions,
            retry_seconds=settings.effect_retry_seconds,
        ),
        plugins=trainjob_plugins(settings.trainer_status_url),
        builder=builder(),
        status_authority=status_authority(settings),
    )


def status_authority(settings: Settings) -> tuple[str, str]:
    """Return namespace and name of the ConfigMap with the trainer-status server's authority."""
    namespace, _, name = settings.trainer_status_authority.partition("/")
    return namespace, name
