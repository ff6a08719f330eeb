"""Laws of sharing: whoever joins, leaves, dies or is cut off, every shard has one holder."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from jobledger.adapters.service.shards.leasing import LeaseKeeper
from jobledger.adapters.service.shards.sharing import Share
from jobledger.core.sharing import quotas
from jobledger.core.values.ids import SHARDS
from tests.properties.effort import effort, lighter
from tests.support.memory.clock import SimulatedClock
from tests.support.memory.leases import MemoryLeases
from tests.support.memory.replicas import MemoryReplicas
from tests.support.records import NOON

NAMES = "abcde"
SECONDS = 15.0
ROUNDS = 12
"""So many looks of each suffice for every change to come to rest."""


class Company:
    """Replicas that look at one table, in any order; no thread, no waiting."""

    def __init__(self) -> None:
        self.clock = SimulatedClock(NOON)
        self.table = MemoryLeases(self.clock.now)
        self.list = MemoryReplicas(self.table, self.clock.now)
        self.there: dict[str, LeaseKeeper] = {}
        self.deaf: set[str] = set()
        self.runs = 0

    def join(self, name: str) -> None:
        """Start a replica that knows all objects."""
        if name in self.there:
            return
        self.runs += 1
        owner = f"{name}/{self.runs}"
        share = Share(self.list, self.clock, owner, SECONDS)
        share.hears = lambda: name not in self.deaf
        self.there[name] = LeaseKeeper(self.table, self.clock, owner, SECONDS, share)
        with capture_logs():
            self.there[name].succeed_predecessor()

    def do(self, what: str, name: str) -> None:
        """Let something happen to a replica."""
        if what == "joins":
            self.join(name)
        elif name not in self.there:
            return
        elif what == "dies":
            del self.there[name]
        elif what == "leaves":
            self.there.pop(name).release()
        elif what == "is cut off":
            self.deaf.add(name)
        elif what == "hears again":
            self.deaf.discard(name)
        else:
            self.look(name)

    def look(self, name: str) -> None:
        """Let a replica look, and give up what is left over."""
        keeper = self.there[name]
        if keeper.is_due():
            keeper.renew()
        keeper.take_up(keeper.held())
        keeper.give_up(keeper.leaving())

    def rest(self, rounds: int = ROUNDS) -> None:
        """Let everybody look a few times."""
        for _ in range(rounds):
            for name in list(self.there):
                self.look(name)
            self.clock.advance(SECONDS / 5)

    def held(self) -> dict[str, frozenset[int]]:
        """Return who works on which shards."""
        return {name: frozenset(keeper.shards()) for name, keeper in self.there.items()}


happenings = st.lists(
    st.tuples(
        st.sampled_from(["joins", "joins", "looks", "dies", "leaves", "is cut off", "hears again"]),
        st.sampled_from(NAMES),
        st.sampled_from([0.0, 0.5, 3.0, 7.0, 16.0]),
    ),
    max_size=25,
)


@lighter
@given(happenings)
def test_shares_are_complete_even_and_at_rest(happened: list[tuple[str, str, float]]) -> None:
    company = Company()
    company.join("a")
    for what, name, seconds in happened:
        company.do(what, name)
        company.clock.advance(seconds)
    company.join("a")
    company.rest()
    held = company.held()
    shards = [shard for one in held.values() for shard in one]
    assert sorted(shards) == list(range(SHARDS)), "each shard is worked on by one"
    fit = [name for name in held if name not in company.deaf]
    if fit:  # else nobody could do better, and whoever held them holds them
        assert all(not held[name] for name in held if name not in fit), "the deaf hold none"
        sizes = [len(held[name]) for name in fit]
        assert max(sizes) - min(sizes) <= 1, "the shares are even"
    epochs = {shard: lease.epoch for shard, lease in company.table.current().items()}
    company.rest()
    assert company.held() == held, "nothing moves any more"
    after = {shard: lease.epoch for shard, lease in company.table.current().items()}
    assert after == epochs, "not for a moment either"


@lighter
@given(st.integers(min_value=1, max_value=5), st.booleans())
def test_who_joins_or_leaves_moves_no_more_than_its_share(count: int, leaves: bool) -> None:
    company = Company()
    for name in NAMES[:count]:
        company.join(name)
        company.rest()
    before = company.held()
    if leaves and count > 1:
        company.there.pop("a").release()
    else:
        company.join("z")
    company.rest()
    after = company.held()
    moved = sum(len(after[name] - before.get(name, frozenset())) for name in after)
    share = SHARDS // (count if leaves and count > 1 else count + 1)
    assert moved <= share + 1


@effort
@given(happenings)
def test_nobody_works_on_the_shard_of_another(happened: list[tuple[str, str, float]]) -> None:
    """At every moment, by each replica's own clock."""
    company = Company()
    for what, name, seconds in happened:
        company.do(what, name)
        table = company.table.current()
        for worker, shards in company.held().items():
            if not company.there[worker].is_overdue():
                assert {table[shard].owner.split("/")[0] for shard in shards} <= {worker}
        company.clock.advance(seconds)


@effort
@given(st.lists(st.integers(min_value=0, max_value=SHARDS), min_size=1, max_size=20))
def test_quotas_add_up(held: list[int]) -> None:
    clock = SimulatedClock(NOON)
    table = MemoryLeases(clock.now)
    listed = MemoryReplicas(table, clock.now)
    lease = timedelta(seconds=SECONDS)
    for number, shards in enumerate(held):
        table.acquire(f"r{number}", lease, shards)
        listed.beat(f"r{number}", lease, hears=number % 3 != 0)
    assert sum(quotas(listed.current(), timedelta(seconds=6)).values()) == SHARDS
