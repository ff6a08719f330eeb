"""What every list of replicas does: `core.ports.replicas`, one rule per function."""

from datetime import timedelta

from tests.support.ledgers import TERM, Ledger

OVER = timedelta(seconds=-1)
"""A heartbeat that is worth nothing: what remains of a replica that died."""


class ReplicasContract:
    """Coming, staying, going."""

    def test_at_first_nobody_is_there(self, empty_ledger: Ledger) -> None:
        assert empty_ledger.replicas.current() == []

    def test_who_beats_is_there_and_is_told_of_the_others(self, empty_ledger: Ledger) -> None:
        replicas = empty_ledger.replicas
        alone = replicas.beat("b/1", TERM, hears=True)
        both = replicas.beat("a/1", TERM, hears=True)
        assert [one.owner for one in alone] == ["b/1"]
        assert [one.owner for one in both] == ["a/1", "b/1"]
        assert replicas.current() == both

    def test_a_heartbeat_is_worth_its_duration(self, empty_ledger: Ledger) -> None:
        (short,) = empty_ledger.replicas.beat("a/1", TERM, hears=True)
        (long,) = empty_ledger.replicas.beat("a/1", TERM * 2, hears=True)
        assert long.until - short.until >= TERM
        assert long.since == short.since

    def test_what_is_worth_too_much_is_worth_one_more_term(self, empty_ledger: Ledger) -> None:
        """The clock was set back since."""
        replicas = empty_ledger.replicas
        replicas.beat("dead/1", TERM * 40, hears=True)
        told = {one.owner: one.until for one in replicas.beat("a/1", TERM, hears=True)}
        assert told["dead/1"] == told["a/1"]

    def test_who_is_silent_for_longer_is_gone(self, empty_ledger: Ledger) -> None:
        replicas = empty_ledger.replicas
        replicas.beat("a/1", OVER, hears=True)
        assert [one.owner for one in replicas.beat("b/1", TERM, hears=True)] == ["b/1"]
        assert [one.owner for one in replicas.current()] == ["b/1"]

    def test_who_comes_back_keeps_when_it_came(self, empty_ledger: Ledger) -> None:
        replicas = empty_ledger.replicas
        replicas.beat("a/1", OVER, hears=True)
        (back,) = replicas.beat("a/1", TERM, hears=True)
        assert back.since <= back.until - TERM

    def test_who_leaves_is_gone_at_once(self, empty_ledger: Ledger) -> None:
        replicas = empty_ledger.replicas
        replicas.beat("a/1", TERM, hears=True)
        replicas.beat("b/1", TERM, hears=True)
        replicas.leave("a/1")
        replicas.leave("nobody/1")
        assert [one.owner for one in replicas.current()] == ["b/1"]

    def test_who_has_not_heard_yet_is_starting(self, empty_ledger: Ledger) -> None:
        replicas = empty_ledger.replicas
        (starting,) = replicas.beat("a/1", TERM, hears=False)
        assert (starting.heard_at, starting.well_since) == (None, None)
        (ready,) = replicas.beat("a/1", TERM, hears=True)
        assert ready.heard_at is not None
        assert ready.heard_at == ready.well_since

    def test_a_stretch_of_hearing_has_a_beginning_and_an_end(self, empty_ledger: Ledger) -> None:
        replicas = empty_ledger.replicas
        (first,) = replicas.beat("a/1", TERM, hears=True)
        (again,) = replicas.beat("a/1", TERM, hears=True)
        assert again.well_since == first.well_since
        assert again.heard_at is not None
        assert first.heard_at is not None
        assert again.heard_at >= first.heard_at
        (deaf,) = replicas.beat("a/1", TERM, hears=False)
        assert (deaf.heard_at, deaf.well_since) == (again.heard_at, again.well_since)
        (back,) = replicas.beat("a/1", TERM, hears=True)
        assert back.well_since == back.heard_at

    def test_shards_are_counted(self, empty_ledger: Ledger) -> None:
        empty_ledger.leases.acquire("a/1", TERM, 5)
        empty_ledger.replicas.beat("a/1", TERM, hears=True)
        told = empty_ledger.replicas.beat("b/1", TERM, hears=True)
        assert {one.owner: one.shards for one in told} == {"a/1": 5, "b/1": 0}
