"""Puts the twenty jobs and the runs before into an empty ledger, and carries its reports on."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from types import ModuleType
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace
from sqlalchemy import Engine

from jobledger.adapters.ledger_wiring import open_ledger
from jobledger.core.log.envelope import EventRecord
from jobledger.core.values.ids import stream_id
from tests.failure_corpus import evidence
from tests.failure_corpus.stories import RECORDERS, STORIES
from tests.failure_corpus.twenty.jobs import Prepared, runs_before, twenty
from tests.support import batchjobs, rayjob_builders, rayjob_stories, trainjobs
from tests.support.ledgers import postgres_ledger
from tests.support.recorded import append_records
from tests.support.records import NOON
from tests.support.reported import project_all

MODULES: Mapping[str, ModuleType] = {
    "RayJob": rayjob_builders,
    "TrainJob": trainjobs,
    "Job": batchjobs,
}
"""Kind of job -> what builds observations of it, of the job that is spoken of there."""

WORKS = {"RayJob": rayjob_stories.succeeded, "TrainJob": trainjobs.completed}


def fill(engine: Engine) -> None:
    """Put all of them into an empty ledger; its reports are up to date afterwards."""
    appending, reading = postgres_ledger(engine), open_ledger("", engine)
    appending.take_all_shards()
    for prepared in (*runs_before(), *twenty()):
        for content in () if prepared.works else evidence.contents(prepared.case).values():
            reading.evidence.put(content, NOON)
        append_records(appending, records_of(prepared))
    project_all(engine)


def records_of(prepared: Prepared) -> list[EventRecord]:
    """Return what the log would have of a run."""
    case = prepared.case
    with _spoken_of(prepared):
        if prepared.works:
            story: Iterable[Any] = WORKS[case.kind]()
        else:
            story = STORIES[case.kind][case.story](case)
        return RECORDERS[case.kind](_with_document(story, prepared))


def _with_document(story: Iterable[Any], prepared: Prepared) -> Iterator[Any]:
    """Yield a story in which the manifest is that of the run."""
    for step in story:
        if prepared.document is not None and hasattr(step, "document"):
            yield replace(step, document=prepared.document)
        else:
            yield step


@contextmanager
def _spoken_of(prepared: Prepared) -> Iterator[None]:
    """Let the builders speak of a run: by its name, at its day."""
    module = MODULES[prepared.case.kind]
    began = NOON - timedelta(days=prepared.days_before)
    uid = f"uid-of-{prepared.name}{prepared.run}"
    stream = stream_id("kind", uid, began)
    identity = replace(
        module.IDENTITY, name=prepared.name, uid=uid, stream_id=stream, created_at=began
    )
    said = {
        "JOB": prepared.name,
        "UID": uid,
        "STREAM": stream,
        "IDENTITY": identity,
        "NOON": began,
    }
    with patch.multiple(module, **said):
        yield
