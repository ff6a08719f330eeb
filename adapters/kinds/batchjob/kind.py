"""The kind Job outside of the core, in one description."""

from jobledger.adapters.kinds.batchjob.effects import BATCHJOB_ACTING
from jobledger.adapters.kinds.batchjob.resync import BATCHJOB_RESYNC
from jobledger.adapters.kinds.batchjob.watched import BATCHJOB_WATCHING
from jobledger.adapters.service.kind_adapter import KindAdapter

BATCHJOB_ADAPTER = KindAdapter(
    watching=BATCHJOB_WATCHING, acting=BATCHJOB_ACTING, resync=BATCHJOB_RESYNC
)
