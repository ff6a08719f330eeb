"""Asks by name for the Job of an attempt: not shown, shown as before, or before its end."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace

from jobledger.adapters.kinds.batchjob.observations import see_attempt
from jobledger.adapters.kinds.batchjob.watched import ATTEMPT, BatchJobListener, tell_attempt_gone
from jobledger.adapters.service.objects.object_cache import CachedJob, version_is_older
from jobledger.adapters.service.resync.absences import Absence
from jobledger.adapters.service.resync.earlier_forms import (
    EarlierForm,
    come_back,
    say_that_it_went_back,
)
from jobledger.adapters.service.resync.lookout import FreshLook, KindResync, Lookout
from jobledger.core.batchjob.state import (
    AttemptJob,
    BatchJobState,
    is_at_work,
    is_final,
    name_for,
)
from jobledger.core.errors import ClusterError
from jobledger.core.jobs.control.went_back import GONE
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.kinds import JobObservation, JobState
from jobledger.core.ports.cluster import BATCH_JOBS
from jobledger.core.values.documents import Manifest, text
from jobledger.core.values.ids import StreamId, observation_id
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
    live, identity = lookout.around.live, state.identity
    job = live.job(identity.uid) if identity is not None else None
    for name, known in _known(state):
        item = live.child(ATTEMPT, known.uid)
        if job is not None and item is not None and version_is_older(item.version, known.version):
            yield _of_attempt(lookout, stream, job, name, known)

    def see(job: CachedJob, found: Manifest, at: Instant) -> JobObservation:
        return replace(see_attempt(stream, found, job.redactor, at), instead_of=GONE)

    yield from come_back(lookout, state, (ATTEMPT, BATCH_JOBS), see)


def _of_attempt(
    lookout: Lookout, stream: StreamId, owner: CachedJob, name: str, known: AttemptJob
) -> EarlierForm:
    around = lookout.around

    def tell(found: Manifest, at: Instant) -> None:
        BatchJobListener(around).seen(found, at)
        job, version = (
            around.live.job(owner.identity.uid),
            text(found, "metadata", "resourceVersion"),
        )
        if job is None or not version_is_older(version, known.version):
            return
        say_that_it_went_back(BATCH_JOBS, job.identity, f"version {version}", known.version)
        seen = see_attempt(stream, found, job.redactor, at)
        mark = observation_id(stream, "went back", str(seen.id), known.version)
        around.inbox.put(stream, replace(seen, id=mark, instead_of=known.version))

    about = replace(owner.identity, name=name)
    return EarlierForm(lookout, BATCH_JOBS, about, known.uid, tell)


@dataclass(frozen=True, slots=True)
class AttemptJobLook:
    """Asks for the Job of an attempt, tells it, then goes on. Calling it is a question."""

    lookout: Lookout
    identity: JobIdentity
    name: str
    look: FreshLook

    def __call__(self) -> bool:
        """Look once; return whether there was an answer."""
        lookout = self.lookout
        try:
            found = lookout.cluster.get(BATCH_JOBS, self.identity.namespace, self.name)
        except ClusterError as error:
            return lookout.no_answer(self.name, error)
        if found is not None:  # told as the watch would, so that it is not undone by older news
            BatchJobListener(lookout.around).seen(found, lookout.clock.now())
        self.look.then()
        return True


def _look_first(lookout: Lookout, stream: StreamId, state: JobState, look: FreshLook) -> bool:
    """Ask for the attempt's Job; what has completed has completed."""
    assert isinstance(state, BatchJobState), "a stream is one job, of one kind"
    if state.identity is None or state.attempt is None:
        return False
    question = AttemptJobLook(lookout, state.identity, state.attempt.job_name, look)
    lookout.questions.ask(stream, look.about, question, look.is_pending)
    return True


BATCHJOB_RESYNC = KindResync(absent=_absent, earlier=_earlier, look_first=_look_first)
