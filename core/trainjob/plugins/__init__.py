"""The built-in plugins, one module each, and their order."""

from jobledger.core.trainjob.building.framework import Plugin, in_order
from jobledger.core.trainjob.plugins.coscheduling import Coscheduling
from jobledger.core.trainjob.plugins.flux import Flux
from jobledger.core.trainjob.plugins.jax import Jax
from jobledger.core.trainjob.plugins.jobset import JobSet
from jobledger.core.trainjob.plugins.mpi import Mpi
from jobledger.core.trainjob.plugins.plainml import PlainMl
from jobledger.core.trainjob.plugins.torch import Torch
from jobledger.core.trainjob.plugins.trainer_status import TrainerStatus
from jobledger.core.trainjob.plugins.volcano import Volcano
from jobledger.core.trainjob.plugins.xgboost import XgBoost


def all_plugins(*others: Plugin, status_url: str = "") -> tuple[Plugin, ...]:
    """Return every plugin in the order in which they are asked; `others` are third parties'.

    `status_url` is where Pods report their progress; empty: nowhere.
    """
    first: tuple[Plugin, ...] = (PlainMl(), Torch(), Mpi(), Jax(), XgBoost(), Flux())
    if status_url:
        first = (*first, TrainerStatus(status_url))
    return in_order(first, others, (Coscheduling(), Volcano(), JobSet()))
