"""The kind TrainJob outside of the core, in one description."""

from jobledger.adapters.kinds.trainjob.acting.effects import TRAINJOB_ACTING
from jobledger.adapters.kinds.trainjob.installation import train_installation
from jobledger.adapters.kinds.trainjob.resync import TRAINJOB_RESYNC
from jobledger.adapters.kinds.trainjob.watching.plugin_conditions import note_refused
from jobledger.adapters.kinds.trainjob.watching.watched import TRAINJOB_WATCHING
from jobledger.adapters.service.kind_adapter import KindAdapter

TRAINJOB_ADAPTER = KindAdapter(
    watching=TRAINJOB_WATCHING,
    acting=TRAINJOB_ACTING,
    resync=TRAINJOB_RESYNC,
    installation=train_installation,
    appended=note_refused,
)
