"""Whether nobody would hand in the Ray job of a running attempt."""

from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.rayjob.phases import JobStatus, Phase
from jobledger.core.rayjob.state import RayJobState, has_submitter, standing

LEFT_ALONE_MESSAGE = "Neither the submitter nor the Ray job was found: nobody would hand it in."


def is_left_alone(state: RayJobState) -> bool:
    """Return whether a submitter should have handed in the Ray job, and none is known.

    As in an attempt that was taken over, begun another way than the manifest says by now.
    """
    said_nothing = state.entrypoint.status is JobStatus.NEW
    running = standing(state) is Phase.RUNNING and not _may_be_there(state)
    return running and said_nothing and has_submitter(state)


def _may_be_there(state: RayJobState) -> bool:
    """Return whether a submitter is known, or is being made.

    Of one that was only asked for, before the log lost what came then, nothing is known.
    """
    known = state.submitter
    is_made = any(one.desired.kind is EffectKind.CREATE_SUBMITTER for one in state.effects)
    return known is not None and (is_made or known.uid != "" or known.outcome != "")
