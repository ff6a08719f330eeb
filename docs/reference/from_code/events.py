"""The page of all events: every type with its fields, grouped by what it is about."""  # noqa: INP001 see generate.py

from collections.abc import Iterator
from typing import get_args

from docs.reference.from_code.attributes import attributes, cell, class_words, code
from jobledger.adapters.postgres.schema.tables import event
from jobledger.core import catalogue
from jobledger.core.batchjob.events import BatchFactEvent, BatchLifeEvent
from jobledger.core.batchjob.observations import JobEnd, PodCounts, SeenBatchStatus
from jobledger.core.batchjob.spec import BatchJobSpec
from jobledger.core.jobs.events import Confirmation, SharedEvent
from jobledger.core.jobs.policy import Policy
from jobledger.core.rayjob.events.lifecycle import FactEvent, LifeEvent
from jobledger.core.rayjob.observations.observations import JobIdentity, Problem, SeenStatus
from jobledger.core.rayjob.spec.spec import RayJobSpec
from jobledger.core.trainjob.conditions import Condition
from jobledger.core.trainjob.events import TrainFactEvent, TrainLifeEvent
from jobledger.core.trainjob.observations import JobCounts, JobSetEnd, SeenTrainStatus
from jobledger.core.trainjob.policy import TrainPolicy
from jobledger.core.trainjob.spec import RuntimeRef, TrainJobSpec

HEAD = """\
# Events

Everything the ledger can say of a job. The name of an event is what stands in `event.type`, its
fields in `event.data`. A field with its default value is left out of the payload; `at` is not in
the payload but in the envelope, as `occurred_at`.

The first event of a turn also says what was seen, in `data.observed`: `type` is the kind of
observation, the rest is what no event of the turn says under the same name
([why](../decisions/0068-the-log-begins-with-what-was-seen.md)).

```sql
SELECT version, occurred_at, type, data FROM event WHERE stream_id = '…' ORDER BY version;
```
"""

GROUPS = (
    ("What became of the job", LifeEvent),
    ("What was seen of its RayCluster, its submitter and its entrypoint", FactEvent),
    ("What became of a TrainJob", TrainLifeEvent),
    ("What was seen of a TrainJob's runtime and objects", TrainFactEvent),
    ("What became of a Job that is retried on new Jobs", BatchLifeEvent),
    ("What was seen of the Jobs of its attempts", BatchFactEvent),
    ("What every kind of job has", SharedEvent),
)

PARTS = (
    JobIdentity,
    Problem,
    SeenStatus,
    RayJobSpec,
    Policy,
    Confirmation,
    TrainJobSpec,
    RuntimeRef,
    TrainPolicy,
    SeenTrainStatus,
    Condition,
    JobCounts,
    JobSetEnd,
    BatchJobSpec,
    SeenBatchStatus,
    PodCounts,
    JobEnd,
)
"""What stands inside of events."""


def events_page() -> str:
    """Return the page."""
    version = f"The newest schema version of every type is {catalogue.SCHEMA_VERSION}.\n"
    return "\n".join((HEAD, version, *_envelope(), *_groups()))


def _envelope() -> Iterator[str]:
    yield "## The envelope\n"
    yield "Every event has these; they are the columns of the table `event`.\n"
    yield "| column | meaning |"
    yield "|---|---|"
    for column in event.columns:
        yield f"| `{column.name}` | {cell(column.comment or '')} |"
    yield ""


def _groups() -> Iterator[str]:
    for title, union in GROUPS:
        yield f"## {title}\n"
        for cls in get_args(union):
            yield from _event(catalogue.NAMES[cls], cls)
    yield "## Parts\n"
    for cls in PARTS:
        yield from _event(cls.__name__, cls)


def _event(name: str, cls: type) -> Iterator[str]:
    yield f"### {name}\n"
    yield f"{class_words(cls)}\n"
    fields = [field for field in attributes(cls) if field.name != "at"]
    if fields:
        yield "| field | type | default | meaning |"
        yield "|---|---|---|---|"
        for field in fields:
            default = "" if field.default.startswith("field(") else field.default
            yield (
                f"| `{field.name}` | {code(field.annotation)} | {code(default)} | "
                f"{cell(field.words)} |"
            )
        yield ""
