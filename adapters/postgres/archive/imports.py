"""Imported bundles in the database, kept apart from the log and read like its own jobs."""

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Engine, select, text

from jobledger.adapters.postgres.archive.archives import is_named
from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.connection.statements import one_column, one_value
from jobledger.adapters.postgres.schema.tables import imported_job
from jobledger.core.errors import BrokenChain, LedgerUnavailable
from jobledger.core.forensics.bundles.bundle import (
    FINGERPRINT_SHOWN,
    Bundle,
    first_difference,
    lines,
    read,
)
from jobledger.core.forensics.bundles.dossier import Dossier, reader_of
from jobledger.core.values.counted import counted
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant

_KEEP = text(
    "SELECT keep_import_v1(:stream, :cluster, :namespace, :name, :uid, :events, :at, :it, :over)"
)


_MEANWHILE = "another bundle of this job was imported in this moment; import this one again"

FINGERPRINT_GIVEN_MIN = 12
"""Characters of a fingerprint that is given; fewer may be a slip of the pen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedJob:
    """A job that was imported."""

    stream_id: UUID
    cluster: str
    namespace: str
    name: str
    uid: str
    events: int
    imported_at: Instant
    document: str

    def bundle(self) -> Bundle:
        """Return what was imported.

        Raises `BrokenChain` if it was changed since, or is not what the other columns say.
        """
        bundle = read(self.document.splitlines(keepends=True))
        place = f"imported job {self.namespace}/{self.name}"
        evidence = reader_of(bundle.evidence)
        told = Dossier(events=bundle.events, evidence=evidence, origin=place).identity
        for name in ("stream_id", "cluster", "namespace", "name", "uid"):
            here, there = getattr(self, name), getattr(told, name)
            if here != there:
                raise BrokenChain(place, f"its row says {name} {here}, and its bundle {there}")
        version = bundle.events[-1].record.version
        if self.events != version:
            raise BrokenChain(
                place, f"its row says {counted(self.events, 'event')}, and its bundle {version}"
            )
        return bundle


class Imports:
    """The table `imported_job`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def keep(self, bundle: Bundle, at: Instant, in_place_of: str = "") -> bool:
        """Keep a bundle; False if it, or one that continues it, is kept already.

        It takes the place of one that it continues link by link. One that tells the job otherwise
        stays, unless the operator names it: anybody can make a chain that is whole, and a longer
        one too, and which of two came first says nothing.

        Args:
            bundle: What was read, and found whole.
            at: When it is imported.
            in_place_of: The beginning of the fingerprint of the one to be replaced, or nothing.

        Raises:
            BrokenChain: another story of the job is kept; both are named by their fingerprints.
            LedgerUnavailable: somebody imported the same job in this moment.
        """
        kept, over = self.kept(bundle.stream), ""
        if kept is not None:
            there = kept.bundle()
            version = first_difference(there, bundle)
            if version and not _is_meant(in_place_of, there):
                raise BrokenChain("the bundle", _otherwise(version, there, bundle))
            if not version and len(bundle.events) <= len(there.events):
                return False
            over = hashlib.sha256(kept.document.encode()).hexdigest()
        if not self._put(bundle, at, over):
            raise LedgerUnavailable(_MEANWHILE)
        return True

    def _put(self, bundle: Bundle, at: Instant, over: str) -> bool:
        evidence = reader_of(bundle.evidence)
        identity = Dossier(events=bundle.events, evidence=evidence, origin="a bundle").identity
        values = {
            "stream": identity.stream_id,
            "cluster": identity.cluster,
            "namespace": identity.namespace,
            "name": identity.name,
            "uid": identity.uid,
            "events": bundle.events[-1].record.version,
            "at": at,
            "it": "".join(lines(bundle)),
            "over": over,
        }
        return bool(one_value(self._engine, _KEEP, values))

    def kept(self, stream: StreamId) -> ImportedJob | None:
        """Return the import of a stream."""
        query = select(imported_job).where(imported_job.c.stream_id == stream)
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            row = connection.execute(query).mappings().one_or_none()
        return None if row is None else ImportedJob(**row)

    def latest(
        self, namespace: str = "", cluster: str = "", but: Collection[str] = ()
    ) -> Iterator[ImportedJob]:
        """Yield imported jobs, the last one first, of a namespace and a cluster if one is given.

        None of those with the UIDs `but`.
        """
        columns = imported_job.c
        query = select(columns.stream_id).order_by(columns.imported_at.desc())
        query = query.where(columns.uid.not_in(but)) if but else query
        for column, wanted in ((columns.namespace, namespace), (columns.cluster, cluster)):
            query = query.where(column == wanted) if wanted else query
        streams = one_column(self._engine, query)
        for stream in streams:  # one at a time: each has its whole bundle with it
            if (found := self.kept(StreamId(stream))) is not None:
                yield found

    def find(self, name: str, namespace: str = "") -> ImportedJob | None:
        """Return the imported job of a name, UID or stream, that which was imported last."""
        called = is_named(imported_job, name)
        query = (
            select(imported_job).where(called).order_by(imported_job.c.imported_at.desc()).limit(1)
        )
        if namespace:
            query = query.where(imported_job.c.namespace == namespace)
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            row = connection.execute(query).mappings().one_or_none()
        return None if row is None else ImportedJob(**row)


def _is_meant(given: str, there: Bundle) -> bool:
    return len(given) >= FINGERPRINT_GIVEN_MIN and there.fingerprint.startswith(given.lower())


def _otherwise(version: int, there: Bundle, new: Bundle) -> str:
    """Return the sentence about two stories of one job."""
    fingerprint = there.fingerprint[:FINGERPRINT_SHOWN]
    first, second = (
        f"({one.fingerprint[:FINGERPRINT_SHOWN]}, {counted(len(one.events), 'event')})"
        for one in (there, new)
    )
    return (
        f"another story of this job was imported before {first}, and from version {version} on "
        f"this one {second} tells it otherwise; the first is kept. Which is genuine is "
        "told by a seal: `jobledger export` the first, and check both by `jobledger import --check "
        f"--key`; to keep this one, `jobledger import --in-place-of {fingerprint}`"
    )
