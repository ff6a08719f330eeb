"""What is installed in a run with TrainJobs of real users: plugins, and how jobs are shown."""

from dataclasses import replace

from jobledger.adapters.kinds.trainjob.installation import TrainInstallation
from jobledger.core.trainjob.plugins import all_plugins
from jobledger.core.trainjob.policy import ConditionStyle, TrainPolicy
from tests.simulation.plugins import Faring
from tests.simulation.profile import Profile
from tests.simulation.training import is_real

STYLES = (ConditionStyle.UNLESS_RUNNING, ConditionStyle.SEED, ConditionStyle.UPSTREAM)
PLUGIN_EVERY, STYLE_EVERY, WEBHOOK_EVERY, RAYJOBS_EVERY = 3, 7, 2, 5


def busier(profile: Profile, seed: int) -> Profile:
    """Return the profile of a run: more happens of itself, and users do more; in others as it is.

    Nobody waits for much here: a JobSet of three Jobs has many steps to its end.
    """
    if not is_real(seed):
        return profile
    return replace(
        profile,
        jobs=profile.jobs + 1,
        steps=profile.steps + 300,
        users=max(profile.users, 0.3),
        nature=max(profile.nature, 3.0),
        nature_trouble=max(profile.nature_trouble, 0.2),
    )


def has_rayjobs(seed: int) -> bool:
    """Return whether a run may have RayJobs and what belongs to them: few have of these seeds."""
    return not is_real(seed) or seed % RAYJOBS_EVERY == 0


def has_webhook(seed: int) -> bool:
    """Return whether Trainer's webhook of TrainJobs is installed, which refuses some edits."""
    return seed // 4 % WEBHOOK_EVERY == 0


def installation(seed: int) -> TrainInstallation:
    """Return how TrainJobs are shown in a run, and whether a plugin has a condition of its own."""
    propagates = seed % PLUGIN_EVERY == 1
    policy = TrainPolicy(conditions=STYLES[seed // STYLE_EVERY % 3], propagates=propagates)
    plugins = (*all_plugins(), Faring()) if propagates else all_plugins()
    return TrainInstallation(policy=policy, plugins=plugins)
