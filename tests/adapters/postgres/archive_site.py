"""A filled ledger that is archived in tests: what is in the log, in files, and what is wrong."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from sqlalchemy import Engine

from bench.population.life import RULES
from jobledger.adapters.forensics import signing
from jobledger.adapters.forensics.archive_files import bundles
from jobledger.adapters.forensics.archived_log import ArchivedLog
from jobledger.adapters.forensics.archiving import ArchiveParts, Left, archive
from jobledger.adapters.forensics.sealed import SealOptions, check_seals, seal_new
from jobledger.adapters.ledger_wiring import Ledger as OpenedLedger
from jobledger.adapters.ledger_wiring import open_ledger
from jobledger.adapters.postgres.archive.archives import PostgresArchives, Retention
from jobledger.adapters.postgres.connection.engine import open_engine
from jobledger.adapters.postgres.reports.projecting.projector import catch_up
from jobledger.adapters.postgres.verifying.verify import verify
from jobledger.core.forensics.seals.seals import Seal
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant
from tests.support import rayjob_stories as stories
from tests.support.ledgers import postgres_ledger, tampering
from tests.support.rayjob_builders import manifest_gone
from tests.support.recorded import append_records, job_called, recorded
from tests.support.records import NOON

LATER = NOON + timedelta(days=1)
OLD_MONTH_DAYS = 1500
"""Jobs made so long before noon have a month of their own that is over."""


def gone(story: Callable[[], Iterable[object]]) -> Callable[[], Iterable[object]]:
    return lambda: (*story(), manifest_gone())


LIVES = {
    "done": gone(stories.succeeded),
    "failed": gone(lambda: (*stories.working(), *stories.failing())),
    "there": stories.succeeded,
    "busy": stories.working,
}
"""Two jobs may leave; one is Complete and its object still there, one works."""


@dataclass
class Site:
    """A filled ledger, its owner, and where archives go."""

    url: str
    engine: Engine
    directory: Path
    copies: Path
    key: Path
    streams: dict[str, StreamId] = field(default_factory=dict)

    @property
    def ledger(self) -> OpenedLedger:
        return open_ledger(self.url, self.engine)

    def fill(self, lives: dict[str, Callable[[], Iterable[object]]], age_days: int = 0) -> None:
        for name, story in lives.items():
            with job_called(name, age_days):
                records = recorded(story())  # type: ignore[arg-type]  # stories of steps
            append_records(postgres_ledger(self.engine), records)
            self.streams[name] = records[0].stream_id

    def seal(self) -> list[Seal]:
        options = SealOptions(signer=signing.signer(self.key), directory=self.copies)
        return seal_new(self.ledger.seals, lambda: LATER, lambda *_: None, options)

    def archive(
        self,
        archives: PostgresArchives | None = None,
        before: Instant = LATER,
        jobs_max: int = 2000,
    ) -> Left:
        self.seal()
        ledger = self.ledger
        chosen = archives or ledger.archives
        jobs = chosen.candidates(Retention(gone_before=before))
        how = ArchiveParts(
            store=ledger.store,
            evidence=ledger.evidence,
            archives=chosen,
            directory=self.directory,
            schema="0107",
            now=lambda: LATER,
            signer=signing.signer(self.key),
            copies=self.copies,
            jobs_max=jobs_max,
            catch_up=lambda: catch_up(self.engine, RULES),
        )
        return archive(how, jobs, list(ledger.seals.seals()))

    def faults(self, *, with_files: bool = False) -> list[str]:
        """Return everything that `jobledger verify` would find."""
        walked = [str(fault.kind) for fault in verify(self.engine, lambda *_: None).faults]
        public = signing.judge(signing.public_path(self.key))
        with closing(ArchivedLog(self.ledger.seals, self.directory, lambda _: None)) as log:
            held = check_seals(
                log if with_files else self.ledger.seals, self.copies, public, lambda _: None
            )
        of_files = [str(fault.kind) for fault in log.faults] if with_files else []
        return [*walked, *of_files, *(str(fault.kind) for fault in held.faults)]

    def in_the_log(self) -> set[StreamId]:
        return set(self.ledger.history.streams())

    def in_files(self) -> set[StreamId]:
        """Return the jobs that files of records hold; each file is read to its end."""
        records = list(self.ledger.archives.records())
        return {
            bundle.stream
            for record in records
            for bundle in bundles(self.directory / record.file.name)
        }

    def tamper(self, statement: str, *values: object) -> None:
        with tampering(self.url) as superuser:
            assert superuser.execute(statement, values).rowcount != 0, "nothing was changed"


@contextmanager
def filled_site(url: str, directory: Path) -> Iterator[Site]:
    """Give a ledger with the jobs of `LIVES`, and places for archives, seals and a key."""
    key = directory / "seal.pem"
    signing.make_keys(key)
    engine = open_engine(url)
    try:
        made = Site(url, engine, directory / "archives", directory / "seals", key)
        postgres_ledger(engine).take_all_shards()
        made.fill(LIVES)
        yield made
    finally:
        engine.dispose()
