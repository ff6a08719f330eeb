"""The port `core.ports.replicas` over the table `replica`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import Engine, text

from jobledger.adapters.postgres.connection.statements import all_mappings, one_column, one_value
from jobledger.core.ports.replicas import Replica
from jobledger.core.values.instants import Instant

_BEAT = text("SELECT * FROM beat_v1(:owner, :cluster, :duration, :hears)")
_LEAVE = text("SELECT leave_v1(:owner)")
_CURRENT = text("""
    SELECT r.owner, r.since, r.until, r.heard_at, r.well_since,
           (SELECT count(*) FROM shard_lease l WHERE l.owner = r.owner) AS shards
    FROM replica r WHERE r.until >= clock_timestamp() AND r.cluster = :cluster
    ORDER BY r.owner COLLATE "C"
""")
_IS_KNOWN = text("SELECT to_regclass('replica') IS NOT NULL AS known")
_ALIVE = text("""
    SELECT owner FROM replica WHERE until >= clock_timestamp() ORDER BY owner COLLATE "C"
""")
_HOLDERS = text("""
    SELECT coalesce(max(r.cluster), max(c.cluster), '') AS cluster,
           owner, bool_or(r.until >= clock_timestamp()) AS is_there,
           bool_or(r.hears) AS hears, max(r.since) AS since,
           array_agg(l.shard % 16 ORDER BY l.shard) FILTER (WHERE l.shard IS NOT NULL) AS shards,
           min(l.until) AS held_until,
           coalesce(min(l.until) < clock_timestamp(), false) AS has_lapsed
    FROM replica r FULL JOIN shard_lease l USING (owner)
    LEFT JOIN ledger_cluster c ON c.slot = l.shard / 16
    GROUP BY owner, c.cluster ORDER BY 1, owner COLLATE "C"
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """What a replica holds, for people who ask who holds what."""

    cluster: str
    """The Kubernetes cluster it serves; empty: nobody has said yet."""
    owner: str
    """`<replica>/<run>`; empty: these shards are free."""
    shards: tuple[int, ...]
    is_there: bool
    """Whether its heartbeat is recent."""
    hears: bool
    """Whether it heard the API server at its last heartbeat."""
    since: Instant | None
    """When it was first heard of; None: it never told of itself."""
    held_until: Instant | None
    """When the first of its leases ends; None: it holds none."""
    has_lapsed: bool
    """Whether that has passed by the database's clock: whoever asks next gets the shard."""


class PostgresReplicas:
    """The list of those that serve one cluster, by the clock of the database."""

    def __init__(self, engine: Engine, cluster: str = "") -> None:
        self._engine = engine
        self._cluster = cluster

    def beat(self, owner: str, duration: timedelta, *, hears: bool) -> Sequence[Replica]:
        """See `core.ports.replicas.Replicas.beat`."""
        rows = all_mappings(
            self._engine,
            _BEAT.bindparams(owner=owner, cluster=self._cluster, duration=duration, hears=hears),
        )
        return [Replica(**row) for row in rows]

    def leave(self, owner: str) -> None:
        """See `core.ports.replicas.Replicas.leave`."""
        one_value(self._engine, _LEAVE.bindparams(owner=owner))

    def current(self) -> Sequence[Replica]:
        """See `core.ports.replicas.Replicas.current`."""
        rows = all_mappings(self._engine, _CURRENT.bindparams(cluster=self._cluster))
        return [Replica(**row) for row in rows]

    def alive(self) -> Sequence[str]:
        """Return who works on the ledger now, for any cluster; nobody does on a schema without."""
        if not one_value(self._engine, _IS_KNOWN):
            return []
        return one_column(self._engine, _ALIVE)

    def holders(self) -> Sequence[Holder]:
        """Return who holds which shards, and replicas that hold none, of every cluster; by name."""
        return [_holder(row) for row in all_mappings(self._engine, _HOLDERS)]


def _holder(row: Mapping[str, Any]) -> Holder:
    return Holder(
        cluster=row["cluster"],
        owner=row["owner"],
        shards=tuple(row["shards"] or ()),
        is_there=bool(row["is_there"]),
        hears=bool(row["hears"]),
        since=row["since"],
        held_until=row["held_until"] if row["owner"] else None,
        has_lapsed=bool(row["has_lapsed"]) and row["owner"] != "",
    )
