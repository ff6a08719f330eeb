"""Telling a job and what belongs to it once more, as they were last seen."""

from adapters.service.trainjob_watching import retell_trainjob
from adapters.service.watching import Surroundings, retell
from core.values.instants import Instant


def retell_job(around: Surroundings, uid: str, at: Instant) -> None:
    """Tell a job of any kind, and its children."""
    job = around.live.job(uid)
    if job is not None and job.kind == "TrainJob":
        retell_trainjob(around, job, at)
    else:
        retell(around, uid, at)
