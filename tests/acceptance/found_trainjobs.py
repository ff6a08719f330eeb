"""TrainJobs as Trainer leaves them, one for every condition, and what becomes of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.acceptance.other_controllers import Document, Trainer, condition
from tests.acceptance.trainjobs import trainjob
from tests.acceptance.witness import TRAINJOBS

RUNTIME = "torch"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTraining:
    """A TrainJob in some state at first sight."""

    name: str
    conditions: tuple[Document, ...] = ()
    active: int | None = None
    """Active Jobs that the status tells of; None: it has no jobsStatus."""
    spec: Mapping[str, Any] = field(default_factory=dict)
    has_jobset: bool = False
    shows: tuple[str, ...] = ()
    """Conditions in the end, as `Type=Status`."""
    makes_jobset: bool = False

    def needs_no_look(self, job: Document) -> bool:
        """Return whether a TrainJob shows what it is to show."""
        shown = job.get("status", {}).get("conditions", [])
        return {f"{one['type']}={one['status']}" for one in shown} == set(self.shows)


SUSPENDED = condition("Suspended", "Suspended")
RESUMED = condition("Suspended", "Resumed", holds=False)
CREATED = condition("Created", "JobsCreationSucceeded")

FOUND_TRAININGS = (
    FoundTraining(name="t-new", shows=("Created=True",), makes_jobset=True),
    FoundTraining(name="t-running", active=1, has_jobset=True, shows=("Created=True",)),
    FoundTraining(
        name="t-suspended",
        conditions=(SUSPENDED,),
        spec={"suspend": True},
        has_jobset=True,
        shows=("Created=True", "Suspended=True"),
    ),
    FoundTraining(
        name="t-resumed",
        conditions=(RESUMED,),
        active=1,
        has_jobset=True,
        shows=("Created=True", "Suspended=False"),
    ),
    FoundTraining(
        name="t-created", conditions=(CREATED,), active=1, has_jobset=True, shows=("Created=True",)
    ),
    FoundTraining(
        name="t-complete",
        conditions=(condition("Complete", "AllJobsCompleted"),),
        active=0,
        shows=("Complete=True",),
    ),
    FoundTraining(
        name="t-failed",
        conditions=(RESUMED, condition("Failed", "FailedJobs")),
        active=0,
        shows=("Suspended=False", "Failed=True"),
    ),
)
"""No condition, Suspended, Resumed, Complete, Failed; Created, as this controller writes it."""


def leave_training(trainer: Trainer, found: FoundTraining, runtime: Document) -> Document:
    """Make a TrainJob and what belongs to it, as Trainer leaves it; return it."""
    reply = trainer.api.create(TRAINJOBS, trainjob(found.name, runtime=RUNTIME, **found.spec))
    assert reply.code == 201, reply
    job = dict(reply.body)
    if found.has_jobset:
        trainer.makes_objects(job, runtime)
    if found.conditions or found.active is not None:
        trainer.shows(found.name, *found.conditions, active=found.active)
    return job
