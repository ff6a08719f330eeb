"""A sealed log for tests: its writers, its seals, a key, and a directory that keeps copies."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import Engine

from jobledger.adapters.forensics import signing
from jobledger.adapters.forensics.sealed import SealOptions, SealReport, check_seals, seal_new
from jobledger.adapters.postgres.verifying.seals import PostgresSeals
from jobledger.core.forensics.seals.sealing import SealFault
from jobledger.core.forensics.seals.seals import Seal
from tests.support.ledgers import Ledger, postgres_ledger, tampering
from tests.support.records import NOON, StreamWriter, a_stream

ONE, TWO, THREE = (a_stream(name) for name in ("one", "two", "three"))


def nothing_wrong(first: int, last: int) -> str | None:
    del first, last
    return None


@dataclass
class Notary:
    """A filled log, its seals, a key and a directory elsewhere."""

    engine: Engine
    url: str
    directory: Path
    key: Path
    ledger: Ledger
    writers: list[StreamWriter]

    @property
    def log(self) -> PostgresSeals:
        return PostgresSeals(self.engine)

    def append(self) -> None:
        """Append two events to each stream."""
        parts = [writer.next({"turn": 1}, {"turn": [1]}) for writer in self.writers]
        self.ledger.store.append(parts)
        for writer, part in zip(self.writers, parts, strict=True):
            writer.wrote(part)

    def seal(self) -> list[Seal]:
        options = SealOptions(signer=signing.signer(self.key), directory=self.directory)
        return seal_new(self.log, lambda: NOON, nothing_wrong, options)

    def check(self) -> SealReport:
        public = signing.judge(signing.public_path(self.key))
        return check_seals(self.log, self.directory, public, lambda _: None)

    def kinds(self) -> set[SealFault]:
        return {fault.kind for fault in self.check().faults}

    def tamper(self, statement: str, *values: object) -> None:
        with tampering(self.url) as superuser:
            changed = superuser.execute(statement, values)
            assert changed.rowcount != 0, "the test changed nothing"


@pytest.fixture
def notary(engine: Engine, ledger_url: str, tmp_path: Path) -> Notary:
    ledger = postgres_ledger(engine)
    ledger.take_all_shards()
    key = tmp_path / "seal.pem"
    signing.make_keys(key)
    writers = [StreamWriter(stream) for stream in (ONE, TWO, THREE)]
    made = Notary(engine, ledger_url, tmp_path / "seals", key, ledger, writers)
    made.append()
    made.seal()
    made.append()
    made.seal()
    return made
