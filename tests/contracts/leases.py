"""What every table of leases does: `core.ports.leases`, one rule per function."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from jobledger.core.values.ids import SHARDS
from tests.support.ledgers import TERM, Ledger

EXPIRED = timedelta(seconds=-1)
"""A lease that has ended when it begins: what remains of a holder that died."""


class LeasesContract:
    """Taking, renewing, losing, giving up."""

    def test_at_first_nobody_holds_anything(self, empty_ledger: Ledger) -> None:
        assert empty_ledger.leases.current() == {}

    def test_a_lone_owner_gets_all_it_wants_under_the_first_epoch(
        self, empty_ledger: Ledger
    ) -> None:
        held = empty_ledger.leases.acquire("one", TERM, SHARDS)
        assert list(held) == list(range(SHARDS))
        assert {(lease.epoch, lease.owner) for lease in held.values()} == {(1, "one")}
        assert empty_ledger.leases.current() == held

    def test_an_owner_gets_no_more_than_it_wants(self, empty_ledger: Ledger) -> None:
        assert len(empty_ledger.leases.acquire("one", TERM, 5)) == 5
        assert len(empty_ledger.leases.acquire("one", TERM, 7)) == 7

    def test_what_is_held_is_not_given_to_another(self, empty_ledger: Ledger) -> None:
        one = empty_ledger.leases.acquire("one", TERM, 10)
        two = empty_ledger.leases.acquire("two", TERM, SHARDS)
        assert set(one) | set(two) == set(range(SHARDS))
        assert not set(one) & set(two)

    def test_renewing_keeps_the_epoch_and_moves_the_end(self, empty_ledger: Ledger) -> None:
        before = empty_ledger.leases.acquire("one", TERM, 3)
        after = empty_ledger.leases.acquire("one", TERM * 2, 3)
        assert {s: lease.epoch for s, lease in after.items()} == dict.fromkeys(before, 1)
        assert all(after[shard].until > before[shard].until for shard in before)

    def test_renewing_keeps_what_is_held_beyond_the_wanted(self, empty_ledger: Ledger) -> None:
        assert len(empty_ledger.leases.acquire("one", TERM, 5)) == 5
        assert len(empty_ledger.leases.acquire("one", TERM, 2)) == 5

    def test_a_lease_that_ended_passes_to_who_asks_under_the_next_epoch(
        self, empty_ledger: Ledger
    ) -> None:
        empty_ledger.leases.acquire("one", EXPIRED, 4)
        two = empty_ledger.leases.acquire("two", TERM, 4)
        assert {shard: lease.epoch for shard, lease in two.items()} == dict.fromkeys(range(4), 2)
        assert empty_ledger.leases.current() == two

    def test_a_lease_that_ends_too_late_lasts_for_one_more_term(self, empty_ledger: Ledger) -> None:
        """The clock was set back since, or another server with another clock was promoted."""
        leases = empty_ledger.leases
        leases.acquire("alive", TERM * 3, 2)
        leases.acquire("dead", TERM * 40, 4)
        two = leases.acquire("two", TERM, 1)
        ends = {lease.owner: lease.until for lease in leases.current().values()}
        assert ends["dead"] == two[6].until
        assert ends["alive"] > ends["dead"], "so long it may be"
        leases.acquire("one", EXPIRED, 1)
        assert leases.current()[2].until == ends["dead"], "who asks for nothing cuts nothing"

    def test_a_late_holder_keeps_its_epoch_if_nobody_came(self, empty_ledger: Ledger) -> None:
        empty_ledger.leases.acquire("one", EXPIRED, 4)
        again = empty_ledger.leases.acquire("one", TERM, 4)
        assert {shard: lease.epoch for shard, lease in again.items()} == dict.fromkeys(range(4), 1)

    def test_what_was_given_up_is_free_at_once(self, empty_ledger: Ledger) -> None:
        empty_ledger.leases.acquire("one", TERM, SHARDS)
        empty_ledger.leases.release("one")
        assert {lease.owner for lease in empty_ledger.leases.current().values()} == {""}
        two = empty_ledger.leases.acquire("two", TERM, SHARDS)
        assert {lease.epoch for lease in two.values()} == {2}

    def test_giving_up_leaves_others_alone(self, empty_ledger: Ledger) -> None:
        empty_ledger.leases.acquire("one", TERM, 2)
        two = empty_ledger.leases.acquire("two", TERM, 2)
        empty_ledger.leases.release("one")
        empty_ledger.leases.release("nobody")
        current = empty_ledger.leases.current()
        assert {shard: current[shard] for shard in two} == two

    def test_some_are_given_up_and_the_others_kept(self, empty_ledger: Ledger) -> None:
        one = empty_ledger.leases.acquire("one", TERM, 6)
        two = empty_ledger.leases.acquire("two", TERM, 2)
        empty_ledger.leases.release("one", {1, 4, 7, 15})
        current = empty_ledger.leases.current()
        free = [shard for shard, lease in current.items() if not lease.owner]
        assert free == [1, 4]
        assert {shard: current[shard] for shard in (0, 2, 3, 5)} == {
            shard: one[shard] for shard in (0, 2, 3, 5)
        }
        assert current[7] == two[7]
        three = empty_ledger.leases.acquire("three", TERM, 2)
        assert {shard: lease.epoch for shard, lease in three.items()} == {1: 2, 4: 2}

    def test_to_give_up_none_changes_nothing(self, empty_ledger: Ledger) -> None:
        empty_ledger.leases.acquire("one", TERM, 6)
        before = empty_ledger.leases.current()
        empty_ledger.leases.release("one", ())
        assert empty_ledger.leases.current() == before

    def test_who_asks_at_once_never_shares_a_shard(self, empty_ledger: Ledger) -> None:
        with ThreadPoolExecutor(4) as pool:
            held = list(
                pool.map(
                    lambda number: empty_ledger.leases.acquire(f"owner {number}", TERM, 6),
                    range(4),
                )
            )
        shards = [shard for leases in held for shard in leases]
        assert sorted(shards) == list(range(SHARDS))
