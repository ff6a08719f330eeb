"""Streams that were once recorded: read, whole, told, and decided today as they were decided then.

A failure of the last kind means that the controller behaves otherwise than it did. If that is
meant: `python -m tests.frozen.make_streams --again`, and a line in the change log.
"""

from pathlib import Path

import pytest

from jobledger.adapters.forensics.bundle_files import read_file
from jobledger.core.catalogue import read_event
from jobledger.core.forensics.attempts import facts
from jobledger.core.forensics.bundles.dossier import Dossier, reader_of
from jobledger.core.forensics.replay.replay import replay
from jobledger.core.forensics.story.causes import ExplainedCauses
from jobledger.core.forensics.story.explain import explain
from jobledger.core.forensics.story.timeline import timeline
from jobledger.core.jobs import events
from jobledger.core.projections.reporting.fold import Folded, Rules, fold
from tests.frozen.make_streams import FOLDER, NAMES, path_of

FILES = sorted(FOLDER.glob("*.bundle"))


def dossier(path: Path) -> Dossier:
    bundle = read_file(path)
    return Dossier(events=bundle.events, evidence=reader_of(bundle.evidence), origin=path.name)


@pytest.mark.parametrize("life", NAMES)
def test_every_life_has_a_stream(life: str) -> None:
    """If not: `python -m tests.frozen.make_streams`."""
    assert path_of(life).exists()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_recorded_stream_is_decided_today_as_it_was(path: Path) -> None:
    replayed = replay(item.record for item in dossier(path).events)
    assert replayed.unknown == ()
    assert replayed.divergences == (), "behaviour has changed: is that meant?"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_recorded_stream_can_be_told_and_explained(path: Path) -> None:
    found = dossier(path)
    read = found.read()
    assert len(list(timeline((item.version, item.event) for item in read))) == len(read)
    assert explain(found).sentences
    assert facts(item.event for item in read).last_at is not None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_controllers_own_work_is_folded_in_short(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Facts are the same after each event as if every event were looked at in full."""
    records, rules = [one.record for one in dossier(path).events], Rules(causes=ExplainedCauses())

    def folds() -> list[Folded]:
        found = [Folded()]
        for one in records:
            found.append(fold(found[-1], one, read_event(one), rules))
        return found

    short = folds()
    monkeypatch.setattr(events, "OWN_WORK", frozenset())
    assert short == folds()
