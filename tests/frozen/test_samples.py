"""What was once written is read for ever, and still means the same."""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, get_args
from uuid import UUID

import pytest

from jobledger.core.batchjob.events import BatchJobEvent
from jobledger.core.catalogue import SCHEMA_VERSION, TYPES, JobEvent, read_event
from jobledger.core.kinds import status
from jobledger.core.log.chain import GENESIS, canonical, data_sha
from jobledger.core.log.codec import encode
from jobledger.core.log.envelope import EventRecord
from jobledger.core.projections.view import View, advance
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import RayJobEvent
from jobledger.core.trainjob.events import TrainJobEvent
from jobledger.core.values.ids import EventId
from tests.frozen.samples import FOLDER, meaning, path_of
from tests.support import batchjobs, trainjobs
from tests.support.rayjob_stories import initializing, running, working
from tests.support.rows import STREAM, play

FILES = sorted(FOLDER.glob("*.json"))
CASES = ("full", "least")
NOBODY = UUID(int=0)


def read(path: Path, case: str) -> tuple[JobEvent, dict[str, Any]]:
    """Return the event of a sample and the sample's case."""
    sample = json.loads(path.read_text())
    kept = sample["cases"][case]
    record = EventRecord(
        stream_id=STREAM,
        version=1,
        event_id=EventId(NOBODY),
        type=sample["type"],
        schema_version=sample["schema_version"],
        occurred_at=datetime.fromisoformat(kept["occurred_at"]),
        recorded_at=datetime.fromisoformat(kept["occurred_at"]),
        actor="jobledger-0",
        epoch=1,
        causation_id=NOBODY,
        correlation_id=NOBODY,
        payload=canonical(kept["data"]),
        data_sha=data_sha(kept["data"]),
        chain=GENESIS,
    )
    return read_event(record), kept


def of_then(now: Any, then: Any) -> Any:  # noqa: ANN401 any JSON
    """Return of a meaning what it had when the sample was written: fields may have been added."""
    if isinstance(now, dict) and isinstance(then, dict) and then:
        return {key: of_then(value, then[key]) for key, value in now.items() if key in then}
    if isinstance(now, list) and isinstance(then, list) and len(now) == len(then):
        return [of_then(*pair) for pair in zip(now, then, strict=True)]
    return now


@pytest.mark.parametrize("name", sorted(TYPES))
def test_every_type_has_a_sample_of_its_newest_version(name: str) -> None:
    """If not: `python -m tests.frozen.make_samples`."""
    assert path_of(name, SCHEMA_VERSION).exists()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("case", CASES)
def test_a_sample_means_what_it_meant_when_it_was_written(path: Path, case: str) -> None:
    """Defaults are not stored: a default that is changed in the code changes the past."""
    event, kept = read(path, case)
    assert of_then(meaning(event), kept["means"]) == kept["means"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("case", CASES)
def test_a_sample_of_the_newest_version_is_written_again_byte_by_byte(
    path: Path, case: str
) -> None:
    event, kept = read(path, case)
    if path == path_of(json.loads(path.read_text())["type"], SCHEMA_VERSION):
        assert canonical(encode(event)) == canonical(kept["data"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("case", CASES)
def test_a_sample_can_be_folded_into_any_story_of_its_kind(path: Path, case: str) -> None:
    """`evolve` is total: what was once written is never refused, wherever it stands."""
    event, _ = read(path, case)
    for history in stories(event):
        view, rows = advance(View(), [*history, event])
        status(view.state)
        assert rows.job.version == len(history) + 1


def stories(event: JobEvent) -> Iterator[list[JobEvent]]:
    """Yield histories that an event may follow."""
    if isinstance(event, get_args(RayJobEvent)):
        for story in (initializing(), running(), working()):
            yield list(play(RAYJOB, story).history)
    if isinstance(event, get_args(TrainJobEvent)):
        for train_story in (trainjobs.seen(), trainjobs.running(), trainjobs.completed()):
            yield list(trainjobs.play(train_story).history)
    if isinstance(event, get_args(BatchJobEvent)):
        for batch_story in (batchjobs.running(), batchjobs.retried(), batchjobs.completed()):
            yield list(batchjobs.play(batch_story).history)


def test_no_sample_is_of_a_type_that_the_catalogue_has_lost() -> None:
    """A class may be renamed; its stored name stays."""
    assert {json.loads(path.read_text())["type"] for path in FILES} <= set(TYPES)
