"""The kind RayJob outside of the core, in one description."""

from jobledger.adapters.kinds.rayjob.acting.effects import RAYJOB_ACTING
from jobledger.adapters.kinds.rayjob.following import RayJobFollower
from jobledger.adapters.kinds.rayjob.installation import installation
from jobledger.adapters.kinds.rayjob.resync import RAYJOB_RESYNC
from jobledger.adapters.kinds.rayjob.watching.watched import RAYJOB_WATCHING
from jobledger.adapters.service.kind_adapter import KindAdapter

RAYJOB_ADAPTER = KindAdapter(
    watching=RAYJOB_WATCHING,
    acting=RAYJOB_ACTING,
    resync=RAYJOB_RESYNC,
    installation=installation,
    follower=RayJobFollower,
)
