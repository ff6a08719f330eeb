"""Asks by name for the Job of an attempt: not shown, shown as before, or before its end."""

from collections.abc import Iterator
from functools import partial

from msgspec.structs import replace

from jobledger.adapters.kinds.batchjob.observations import see_attempt
from jobledger.adapters.kinds.batchjob.watched import ATTEMPT, BatchJobListener, tell_attempt_gone
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.adapters.service.resync.absences import Absence
from jobledger.adapters.service.resync.earlier_forms import EarlierForm, come_back, earlier_child
from jobledger.adapters.service.resync.lookout import ChildLook, FreshLook, KindResync, Lookout
from jobledger.core.batchjob.state import AttemptJob, BatchJobState, is_at_work, is_final, name_for
from jobledger.core.kinds import JobObservation, JobState
from jobledger.core.ports.cluster import BATCH_JOBS
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant


def _known(state: JobState) -> Iterator[tuple[str, AttemptJob]]:
    """Yield name and what is known of the Jobs that the log takes to be there."""
    assert isinstance(state, BatchJobState), "a stream is one job, of one kind"
    if state.attempt is not None and state.attempt.job is not None:
        yield state.attempt.job_name, state.attempt.job
    yield from _late_jobs(state)
    if state.unknown_job is not None:
        yield name_for(state, state.unknown_job.attempt), state.unknown_job.job


def _late_jobs(state: BatchJobState) -> Iterator[tuple[str, AttemptJob]]:
    """Yield name and UID of the Jobs of earlier attempts that are to go, after the end too."""
    return ((late.name, AttemptJob(uid=late.uid)) for late in state.late_jobs)


def _absent(lookout: Lookout, stream: StreamId, state: JobState) -> Iterator[Absence]:
    """Yield looks for Jobs of attempts; that of the last one may go after the end unnoticed."""
    identity, around = state.identity, lookout.around
    assert isinstance(state, BatchJobState), "a stream is one job, of one kind"
    if identity is None:
        return
    has_ended = is_final(state) and not is_at_work(state)
    for name, known in _late_jobs(state) if has_ended else _known(state):
        if known.uid and not around.live.has_child(ATTEMPT, known.uid, identity.uid):
            tell = partial(tell_attempt_gone, around, stream, name, known.uid)
            where, whose = identity.namespace, identity.uid
            yield Absence(lookout, BATCH_JOBS, where, name, known.uid, tell, whose)


def _earlier(lookout: Lookout, stream: StreamId, state: JobState) -> Iterator[EarlierForm]:
    """Yield looks for Jobs that are shown in an earlier form than the log knows, or though gone."""
    child, tell = (ATTEMPT, BATCH_JOBS), BatchJobListener(lookout.around).seen

    def see(job: CachedJob, found: Manifest, at: Instant, instead_of: str) -> JobObservation:
        return replace(see_attempt(stream, found, job.redactor, at), instead_of=instead_of)

    for name, job in _known(state):
        known = name, job.uid, job.version
        yield from earlier_child(lookout, state, child, known, tell, see)
    yield from come_back(lookout, state, child, see)


def _look_first(lookout: Lookout, stream: StreamId, state: JobState, look: FreshLook) -> bool:
    """Ask for the attempt's Job; what has completed has completed."""
    assert isinstance(state, BatchJobState), "a stream is one job, of one kind"
    if state.identity is None or state.attempt is None:
        return False
    about = replace(state.identity, name=state.attempt.job_name)
    tell = BatchJobListener(lookout.around).seen
    question = ChildLook(lookout, BATCH_JOBS, about, tell, look)
    lookout.questions.ask(stream, look.about, question, look.is_pending)
    return True


BATCHJOB_RESYNC = KindResync(absent=_absent, earlier=_earlier, look_first=_look_first)
