"""Bundles of other ledgers, kept beside this one's log to be read like its own jobs."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Engine, select, text

from adapters.postgres.errors import ledger_errors
from adapters.postgres.tables import imported_job
from core.errors import BrokenChain
from core.forensics.bundle import Bundle, first_difference, read
from core.forensics.dossier import Dossier, reader_of
from core.jobs.identity import JobIdentity
from core.values.ids import StreamId
from core.values.instants import Instant

_KEEP = text("SELECT keep_import_v1(:stream, :cluster, :namespace, :name, :uid, :events, :at, :it)")


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
            what = f"its row says {self.events} events, and its bundle {version}"
            raise BrokenChain(place, what)
        return bundle


class Imports:
    """The table `imported_job`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def keep(self, identity: JobIdentity, events: int, document: str, at: Instant) -> bool:
        """Keep a bundle; False if one that is at least as long is there."""
        values = {
            "stream": identity.stream_id,
            "cluster": identity.cluster,
            "namespace": identity.namespace,
            "name": identity.name,
            "uid": identity.uid,
            "events": events,
            "at": at,
            "it": document,
        }
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            return bool(connection.execute(_KEEP, values).scalar_one())

    def kept(self, stream: StreamId) -> ImportedJob | None:
        """Return the import of a stream."""
        query = select(imported_job).where(imported_job.c.stream_id == stream)
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            row = connection.execute(query).mappings().one_or_none()
        return None if row is None else ImportedJob(**row)

    def check(self, bundle: Bundle) -> None:
        """Refuse a bundle that tells a job otherwise than the one that was imported before.

        Anybody can make a chain that is whole, and a longer one too. Raises `BrokenChain`.
        """
        kept = self.kept(bundle.stream)
        version = first_difference(kept.bundle(), bundle) if kept is not None else 0
        if version:
            what = (
                f"another bundle of this job was imported before, and from version {version} on "
                "this one tells it otherwise; that one is kept. Which of them is genuine is told "
                "by a seal: `jobledger import --check --key`"
            )
            raise BrokenChain("the bundle", what)

    def find(self, name: str, namespace: str = "") -> ImportedJob | None:
        """Return the imported job of a name or UID, that which was imported last."""
        called = (imported_job.c.name == name) | (imported_job.c.uid == name)
        query = (
            select(imported_job).where(called).order_by(imported_job.c.imported_at.desc()).limit(1)
        )
        if namespace:
            query = query.where(imported_job.c.namespace == namespace)
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            row = connection.execute(query).mappings().one_or_none()
        return None if row is None else ImportedJob(**row)
