"""Everything that one seed makes: time, log, cluster, heads, users, and the processes.

Single-threaded. Whoever waits (the turn, while the ledger is away) lets the others go on meanwhile.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from random import Random
from typing import Any

from jobledger.adapters.service.observing.mapper import ObservationMapper, identify
from jobledger.core.jobs.policy import Policy
from jobledger.core.ports.cluster import CORE_EVENTS, KUBERNETES_EVENTS, RAYJOBS, TRAINJOBS
from jobledger.core.rayjob.observations.children import owner_uid
from jobledger.core.trainjob.building.runtimes import trainjob_owner
from jobledger.core.values.documents import Manifest, child, text
from jobledger.core.values.ids import shard_of
from tests.simulation.batch_nature import BatchNature
from tests.simulation.batch_users import BatchUsers, is_given, users_job_of
from tests.simulation.clocks import SkewedClock
from tests.simulation.head_pods import WIDE_FROM, HeadPods
from tests.simulation.heads import SimulatedHeads
from tests.simulation.intruders import Intruders
from tests.simulation.jobsets import JobSetNature
from tests.simulation.kubernetes import SimulatedApi
from tests.simulation.lapses import Lapses
from tests.simulation.nature import Move, Nature
from tests.simulation.oddities import ODD_FROM, Oddities
from tests.simulation.plugins import INSTALLED, has_plugin
from tests.simulation.ports import Faults, faulty
from tests.simulation.profile import (
    BATCHES_EVERY,
    TRAINS_EVERY,
    Profile,
    draw,
    has_batches,
    has_lapses,
    has_restores,
    has_shares,
    has_trains,
    takes_steps,
)
from tests.simulation.reflectors import Reflectors
from tests.simulation.replica import Ports, Replica, Surrounding
from tests.simulation.retry_options import OPTIONS_FROM
from tests.simulation.setting_back import Losses, is_forged
from tests.simulation.train_users import TrainUsers
from tests.simulation.training import is_real
from tests.simulation.training.installed import busier, has_rayjobs, has_webhook, installation
from tests.simulation.training.jobsets import JobSetWebhook, RealJobSets
from tests.simulation.training.people import TrainPeople
from tests.simulation.upheavals import FAR_FROM, Upheaval, has_upheavals
from tests.simulation.upheavals.backups import Backups
from tests.simulation.upheavals.cascades import Cascades
from tests.simulation.upheavals.etcd import EtcdRestores
from tests.simulation.upheavals.namespaces import NamespaceEnds
from tests.simulation.upheavals.refusals import Refusals
from tests.simulation.upheavals.relabelling import Relabelling
from tests.simulation.users import SECRET, Users
from tests.simulation.witness import Violation, WatchedStore, Witness, require
from tests.support.memory.clock import SimulatedClock
from tests.support.memory.event_store import MemoryEventStore
from tests.support.memory.history import MemoryHistory
from tests.support.memory.leases import MemoryLeases
from tests.support.memory.pending import MemoryPendingDecisions
from tests.support.memory.replicas import MemoryReplicas
from tests.support.memory.snapshots import MemorySnapshots
from tests.support.records import NOON

CLUSTER = "kind"
FASTER = Policy(
    transition_grace_seconds=40,
    status_check_timeout_seconds=40,
    submitter_finished_timeout_seconds=30,
)


@dataclass
class World:
    """All there is in one run."""

    seed: int
    on_pause: Callable[[str, float], None]
    """Called with a process and seconds, when it waits."""
    loses: bool = False
    """Whether the ledger loses its last events now and then."""
    replicas: list[Replica] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.dice = Random(self.seed)
        self.profile: Profile = busier(draw(self.dice), self.seed)
        self.clock = SimulatedClock(NOON)
        self.lease_table = MemoryLeases(self.clock.now)
        self.shares = has_shares(self.seed)
        self.replica_list = MemoryReplicas(self.lease_table, self.clock.now)
        self.log = MemoryEventStore(self.lease_table)
        self.history = MemoryHistory(self.log)
        self.snapshots = MemorySnapshots(self.log)
        self.api = SimulatedApi(self.clock.now, self.seed)
        self.heads = SimulatedHeads(self.clock.now)
        self.witness = Witness(self.api)
        self.nature = Nature(
            self.api,
            self.heads,
            self.clock.now,
            self.dice,
            slow_deletion=self.profile.slow_deletion,
            success=self.profile.success,
        )
        jobs, with_trains = self.profile.jobs, has_trains(self.seed)
        with_batches = has_batches(self.seed)
        wide, options = self.seed >= WIDE_FROM, self.seed >= OPTIONS_FROM
        shares, made = has_rayjobs(self.seed), self._rayjobs()
        self.users = Users(self.api, self.heads, self.dice, made, wide, options, shares)
        self.head_pods = HeadPods(self.nature, wide, self.seed >= FAR_FROM)
        self.intruders = Intruders(self.nature, wide)
        self._have_train_users(jobs if with_trains else 0, wide)
        self.batch_users = BatchUsers(
            self.api, self.dice, jobs if with_batches else 0, is_real(self.seed)
        )
        self.batch_jobs = BatchNature(self.api, self.nature)
        self.oddities = Oddities(
            self.api, self.dice, self.seed >= ODD_FROM, wide, options, not is_real(self.seed)
        )
        self.upheavals = self._upheavals(present=has_upheavals(self.seed))
        self._kinds = ("RayJob", *["TrainJob"] * with_trains, *["Job"] * with_batches)
        self.faults = Faults(self.profile, self.dice, self.clock.monotonic, self._allow)
        if with_trains:
            self.faults.forbidden |= {"cluster.apply"}
        self._mapper = self._made_mapper(with_plugin=wide and with_trains)
        self.losses = Losses(self.log, self.lease_table, Random(self.seed))
        self.lapses = Lapses(self.lease_table, has_lapses(self.seed))
        self._store = WatchedStore(self.log, self.witness, self.losses.note)
        self._runs = 0

    def _made_mapper(self, *, with_plugin: bool) -> ObservationMapper:
        policy = Policy(
            transition_grace_seconds=FASTER.transition_grace_seconds,
            status_check_timeout_seconds=FASTER.status_check_timeout_seconds,
            submitter_finished_timeout_seconds=FASTER.submitter_finished_timeout_seconds,
            retry_delay_seconds=self.profile.retry_delay_seconds,
        )
        mapper = ObservationMapper(
            cluster=CLUSTER, policy=policy, redaction_key=b"a key of the simulation"
        )
        if is_real(self.seed):
            return mapper.knowing(installation(self.seed))
        with_plugin = with_plugin and has_plugin(self.seed)
        return mapper.knowing(INSTALLED) if with_plugin else mapper

    def _rayjobs(self) -> int:
        """Return how many RayJobs are made: beside other kinds one, or none."""
        if has_trains(self.seed):
            rayjobs = self.seed // TRAINS_EVERY % 2
        elif has_batches(self.seed):
            rayjobs = self.seed // BATCHES_EVERY // 2 % 2
        else:
            rayjobs = self.profile.jobs
        return rayjobs * has_rayjobs(self.seed)

    def _have_train_users(self, creations: int, wide: bool) -> None:
        """Have users of TrainJobs, real ones or such that know but one runtime, and JobSets."""
        self.train_users: TrainUsers | TrainPeople
        self.jobsets: JobSetNature | RealJobSets
        if not is_real(self.seed):
            self.train_users = TrainUsers(self.api, self.dice, creations, wide)
            self.jobsets = JobSetNature(self.api, self.nature)
            return
        guarded, webhook = has_webhook(self.seed), JobSetWebhook()
        self.train_users = TrainPeople(self.api, self.dice, self.clock.now, creations, guarded)
        self.api.refuses_jobset = webhook.refuses
        self.jobsets = RealJobSets(self.api, self.nature, webhook)

    def _upheavals(self, *, present: bool) -> Sequence[Upheaval]:
        return (
            NamespaceEnds(self.nature, self.users, present),
            Cascades(self.nature, present),
            Refusals(self.api, self.dice, lambda: self.faults.calm, present),
            Backups(self.api, self.witness.batches.restored, present, is_real(self.seed)),
            Relabelling(self.api, present and self.seed >= OPTIONS_FROM),
            EtcdRestores(
                self.nature, self.head_pods, self._end_watches, present and self._has_restores()
            ),
        )

    def _has_restores(self) -> bool:
        """Return whether etcd may be restored: not if what was shown is lost to the ledger, too."""
        return has_restores(self.seed) and not (self.loses and is_real(self.seed))

    def _end_watches(self) -> None:
        for replica in self.replicas:
            for watch in replica.ports.watches.all:
                watch.break_off("the API server went back to an earlier state")

    # What `adapters.postgres.refolding.rebuilding` asks of a ledger.
    @property
    def store(self) -> MemoryEventStore:
        """The log."""
        return self.log

    @property
    def projections(self) -> MemoryEventStore:
        """What replaces rows."""
        return self.log

    def start_replica(self, name: str) -> Replica:
        """Start a process."""
        self._runs += 1
        actor = f"{name}/{self._runs}"
        clock, faults = SkewedClock(self.clock), self.faults
        ports = Ports(
            store=faulty(self._store, "store", actor, faults, faults.ledger),
            leases=faulty(self.lease_table, "leases", actor, faults, faults.ledger),
            replicas=faulty(self.replica_list, "replicas", actor, faults, faults.heartbeat)
            if self.shares
            else None,
            pending=faulty(
                MemoryPendingDecisions(self.log), "pending", actor, faults, faults.ledger
            ),
            history=faulty(self.history, "history", actor, faults, faults.ledger),
            cluster=faulty(self.api, "cluster", actor, faults, partial(self._as_writer)),
            ray=faulty(self.heads, "ray", actor, faults, faults.ray),
            watches=Reflectors(self.api, clock.now),
            clock=clock,
            snapshots=self.snapshots,
        )
        around = Surrounding(
            actor=actor,
            mapper=self._mapper,
            pause=partial(self._pause, actor),
            dice=self.dice.random,
            resumed=partial(self.witness.on_resumed, actor),
            looked=partial(self.witness.unaware.discard, actor),
            begins_anew=partial(self.witness.on_begun_anew, actor),
            job_kinds=self._kinds,
            one_by_one=takes_steps(self.seed),
        )
        replica = Replica(ports, around)
        self.replicas.append(replica)
        return replica

    def lose_events(self) -> str:
        """Set the ledger back, as a failover does; return what is lost, in words."""
        self.lapses.end()
        before = self.log.last_position()
        kept, cut = self.losses.lose()
        self.witness.set_back(cut, {one.actor for one in self.replicas}, self.log)
        return f"{before - kept} events are lost, of {len(cut)} jobs"

    def end_replica(self, replica: Replica) -> None:
        """Let a process be gone."""
        replica.vanish()
        self.replicas.remove(replica)

    def moves(self) -> list[Move]:
        """Return what can happen next by itself."""
        return [
            *self.nature.possible(),
            *self.head_pods.possible(),
            *self.intruders.possible(),
            *self.jobsets.possible(),
            *self.batch_jobs.possible(),
            *self.oddities.possible(),
            *chain.from_iterable(one.possible() for one in self.upheavals),
        ]

    def troubles(self) -> list[Move]:
        """Return what can go wrong next."""
        found = [
            *self.nature.troubles(),
            *self.head_pods.troubles(),
            *self.intruders.troubles(),
            *self.jobsets.troubles(),
            *self.batch_jobs.troubles(),
            *self.oddities.troubles(),
            *chain.from_iterable(one.troubles() for one in self.upheavals),
        ]
        return [item for item in found if not self.loses or not is_forged(item[0])]

    def wishes(self) -> list[Move]:
        """Return what users may do next."""
        return [
            *self.users.possible(),
            *self.train_users.possible(),
            *self.batch_users.possible(),
            *self.oddities.wishes(),
            *chain.from_iterable(one.wishes() for one in self.upheavals),
        ]

    def owed(self) -> list[Move]:
        """Return what somebody does in the end, once nothing happens by itself."""
        return self.users.owed() or self.train_users.owed() or self.jobsets.owed()

    def land_late(self, index: int) -> str:
        """Let a request that was given up long ago arrive; return what it was."""
        what, call = self.faults.late.pop(index)
        self.witness.is_late = True
        self.api.writer = "(late)"
        try:
            call()
        except Exception as error:  # noqa: BLE001 nobody hears the answer
            what += f" ({type(error).__name__})"
        finally:
            self.api.writer, self.witness.is_late = "", False
        return what

    def stream_shard(self, uid: str) -> int | None:
        """Return the shard of a job by its UID, if it is in the log."""
        witness = self.witness
        kinds = (witness.streams, witness.trains.streams, witness.batches.streams)
        stream = next((streams[uid] for streams in kinds if uid in streams), None)
        return shard_of(stream) if stream is not None else None

    def shards_with_jobs(self) -> frozenset[int]:
        """Return the shards of all jobs in the log."""
        witness = self.witness
        kinds = (witness.stories, witness.trains.stories, witness.batches.stories)
        return frozenset(shard_of(stream) for stories in kinds for stream in stories)

    def secret_in_log(self) -> bool:
        """Return whether the planted secret stands anywhere in the log (invariant 9)."""
        return any(SECRET in str(item.record.data) for item in self.log.read_after(0, 10**9))

    def is_in_log(self, job: Manifest) -> bool:
        """Return whether the log knows a RayJob."""
        return identify(CLUSTER, job).stream_id in self.witness.stories

    def _pause(self, actor: str, seconds: float) -> bool:
        self.on_pause(actor, seconds)
        return False

    def _as_writer(self, actor: str, name: str, call: Callable[[], Any]) -> Any:  # noqa: ANN401 a proxy
        """Carry a request out in the name of a process, so that the witness can tell."""

        def named() -> Any:  # noqa: ANN401 a proxy
            before, self.api.writer = self.api.writer, actor
            try:
                return call()
            finally:
                self.api.writer = before

        return self.faults.cluster(actor, name, named)

    def _allow(
        self, actor: str, method: str, plural: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Invariant 9: nothing is written to the cluster without a valid lease."""
        del kwargs
        if plural in (KUBERNETES_EVENTS.plural, CORE_EVENTS.plural):
            return
        uid = self._job_of(method, plural, args)
        shard = self.stream_shard(uid)
        now = self.clock.now()
        if shard is None or actor in self.witness.unaware or self.lapses.of(actor, shard, now):
            return
        lease = self.lease_table.current().get(shard)
        holds = lease is not None and lease.owner == actor and now <= lease.until
        require(holds, f"{actor} does {method} on {plural} without the lease on shard {shard}")

    def _job_of(self, method: str, plural: str, args: tuple[Any, ...]) -> str:
        """Return the UID of the job that a write is about."""
        if method in ("create", "apply"):
            manifest: Manifest = args[1]
            return text(manifest, "metadata", "uid") or _owner_of(manifest)
        found = self.api.get(args[0], args[1], args[2])
        if found is None:
            return ""
        is_job = plural in (RAYJOBS.plural, TRAINJOBS.plural)
        return text(found, "metadata", "uid") if is_job or is_given(found) else _owner_of(found)


def _owner_of(manifest: Manifest) -> str:
    return owner_uid(manifest) or trainjob_owner(manifest) or users_job_of(manifest)


__all__ = ["CLUSTER", "Violation", "World", "child"]
