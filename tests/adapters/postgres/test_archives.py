"""Jobs leave the log for a file: whole, once; whatever is killed, and when."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobledger.adapters.postgres.archive.archives import PostgresArchives, Removed, Retention
from jobledger.adapters.postgres.refolding.rebuilding import compare
from jobledger.adapters.postgres.verifying.verify import verify
from jobledger.core.errors import BrokenChain, LedgerError, LedgerMisconfigured
from jobledger.core.forensics.seals.archives import Archive
from jobledger.core.forensics.seals.sealing import SealFault
from tests.adapters.postgres.archive_site import LATER, OLD_MONTH_DAYS, Site, filled_site, gone
from tests.support import rayjob_stories as stories
from tests.support.records import NOON

pytestmark = pytest.mark.postgres


@pytest.fixture
def site(ledger_url: str, tmp_path: Path) -> Iterator[Site]:
    """A filled ledger."""
    with filled_site(ledger_url, tmp_path) as made:
        yield made


class Killed(BaseException):
    """The process is gone."""


def test_what_is_over_and_gone_leaves_and_the_rest_stays_provable(site: Site) -> None:
    before = verify(site.engine, lambda *_: None).events
    left = site.archive()
    assert left.jobs == 2
    assert site.in_the_log() == {site.streams["there"], site.streams["busy"]}
    assert site.in_files() == {site.streams["done"], site.streams["failed"]}
    report = verify(site.engine, lambda *_: None)
    assert (report.events + report.archived, report.archived) == (before, left.events)
    assert site.faults() == []
    assert site.faults(with_files=True) == []
    assert [found for stream in site.in_the_log() for found in compare(site.ledger, stream)] == []


def test_the_log_grows_on_and_later_seals_name_the_record(site: Site) -> None:
    site.archive()
    site.fill({"next": gone(stories.succeeded)})
    (sealed,) = site.seal()
    assert sealed.archive == site.ledger.archives.last()
    assert site.archive().jobs == 1
    assert [record.number for record in site.ledger.archives.records()] == [1, 2]
    assert site.faults(with_files=True) == []


def test_nothing_leaves_that_is_young(site: Site) -> None:
    assert site.archive(before=NOON).jobs == 0
    assert site.ledger.archives.last() is None


def test_failed_jobs_may_be_kept_longer(site: Site) -> None:
    wanted = Retention(gone_before=LATER, failed_gone_before=NOON)
    assert [job.name for job in site.ledger.archives.candidates(wanted)] == ["done"]


class Dying(PostgresArchives):
    """Dies at a step."""

    step = ""

    def keep(self, made: Archive) -> bool:
        if self.step == "before the record":
            raise Killed
        kept = super().keep(made)
        if self.step == "after the record":
            raise Killed
        return kept

    def remove(self, number: int) -> Iterator[Removed]:
        if self.step == "before the removal":
            raise Killed
        for step in super().remove(number):
            yield step
            if self.step == "within the removal":
                raise Killed


def killed(*_: object) -> None:
    raise Killed


@pytest.mark.parametrize(
    "step", ["check_file", "ArchiveWriter.commit", "ArchiveWriter.finish", "keep_record"]
)
def test_killed_while_the_file_is_made_the_jobs_stay_or_the_next_run_carries_on(
    site: Site, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as dying:
        dying.setattr(f"jobledger.adapters.forensics.archiving.{step}", killed)
        with pytest.raises(Killed):
            site.archive()
    assert site.in_the_log() == set(site.streams.values())
    old = site.directory / ".archive-000009.1"
    old.touch()
    os.utime(old, (0, 0))
    site.archive()
    assert site.in_the_log() & site.in_files() == set()
    assert site.in_the_log() | site.in_files() == set(site.streams.values())
    assert site.faults(with_files=True) == []
    assert not list(site.directory.glob(".archive-*")), "nothing unfinished is left"


@pytest.mark.parametrize(
    "step",
    ["before the record", "after the record", "before the removal", "within the removal"],
)
def test_killed_at_any_step_nothing_is_lost_and_the_next_run_carries_on(
    site: Site, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobledger.adapters.postgres.archive.archives._REMOVE_AT_ONCE", 1)
    dying = Dying(site.engine)
    dying.step = step
    with pytest.raises(Killed):
        site.archive(dying)
    everything = set(site.streams.values())
    assert site.in_the_log() | site.in_files() == everything
    assert [kind for kind in site.faults(with_files=True) if kind != SealFault.ARCHIVE] == []
    site.archive()
    assert site.in_the_log() & site.in_files() == set()
    assert site.in_the_log() | site.in_files() == everything
    assert site.faults(with_files=True) == []


def test_a_file_that_was_spoilt_before_it_was_read_again_removes_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoil(*_: object) -> None:
        raise BrokenChain("the file", "the disk gave back something else")

    monkeypatch.setattr("jobledger.adapters.forensics.archiving.check_file", spoil)
    with pytest.raises(BrokenChain):
        site.archive()
    assert site.in_the_log() == set(site.streams.values())
    assert list(site.directory.iterdir()) == []


def test_a_month_whose_jobs_are_all_archived_goes_as_a_whole(site: Site) -> None:
    site.fill({"old one": gone(stories.succeeded)}, OLD_MONTH_DAYS)
    left = site.archive()
    assert left.partitions == ["event_y2022m10"]
    assert site.streams["old one"] not in site.in_the_log()
    assert site.faults(with_files=True) == []
    site.fill({"another old one": stories.succeeded}, OLD_MONTH_DAYS)
    assert site.faults() == [], "the log takes jobs of that month all the same"


def test_a_month_with_one_job_that_stays_is_kept(site: Site) -> None:
    site.fill({"old": gone(stories.succeeded)}, OLD_MONTH_DAYS)
    site.fill({"old there": stories.succeeded}, OLD_MONTH_DAYS)
    assert site.archive().partitions == []
    assert site.streams["old"] not in site.in_the_log()
    assert site.streams["old there"] in site.in_the_log()


def test_a_directory_of_another_ledger_or_of_a_future_that_was_undone_is_left_alone(
    site: Site,
) -> None:
    site.directory.mkdir()
    (site.directory / "archive-000001.json").write_text("another ledger's")
    with pytest.raises(LedgerMisconfigured, match="choose another directory"):
        site.archive()
    assert site.in_the_log() == set(site.streams.values())


def test_many_jobs_become_several_files(site: Site) -> None:
    left = site.archive(jobs_max=1)
    assert [len(record.jobs) for record in left.records] == [1, 1]
    assert site.faults(with_files=True) == []


def test_a_job_that_moved_on_meanwhile_stays(site: Site) -> None:
    class Slow(PostgresArchives):
        def keep(self, made: Archive) -> bool:
            site.tamper("UPDATE stream SET version = version + 1")
            return super().keep(made)

    with pytest.raises(LedgerError, match="has moved on"):
        site.archive(Slow(site.engine))
    assert site.ledger.archives.last() is None


def test_an_archived_job_never_begins_anew(site: Site) -> None:
    site.archive()
    with pytest.raises(BrokenChain, match="has been archived"):
        site.fill({"done": stories.succeeded})


def test_evidence_goes_an_hour_after_the_last_job_that_names_it(site: Site) -> None:
    kept = site.ledger.evidence.put(b"named by nobody", NOON)
    again = site.ledger.evidence.put(b"put again meanwhile", NOON)
    for content in (b"named by nobody", b"put again meanwhile"):
        mark = "INSERT INTO archived_evidence VALUES (sha256(%s), now() - interval '2 hours')"
        site.tamper(mark, content)
    site.ledger.evidence.put(b"put again meanwhile", LATER)
    assert site.ledger.archives.sweep_evidence() == 1
    assert site.ledger.evidence.get(kept) is None
    assert site.ledger.evidence.get(again) is not None
