"""Who of several ledgers acts: the rule by which each judges for itself."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from jobledger.adapters.claim_wiring import claim_of_run
from jobledger.adapters.settings import Settings
from jobledger.core.claims.leases import claim_of, manifest_of
from jobledger.core.claims.rule import Claim, Standing, kinship, overlap, stand
from tests.support.memory.clock import SimulatedClock

BOTH = ("RayJob", "TrainJob")
CLAIMING, ACTING, WAITING = Standing.CLAIMING, Standing.ACTING, Standing.WAITING

MINE = Claim(
    name="jobledger-b",
    owner="b/1",
    since="2026-01-01T12:00:00.000000Z",
    standing=CLAIMING,
    database="7/1/5/public",
    origin="aa",
    position=100,
    kinds=("RayJob", "TrainJob"),
)
OLDER = replace(MINE, name="jobledger-a", owner="a/1", since="2026-01-01T11:00:00.000000Z")
YOUNGER = replace(MINE, name="jobledger-c", owner="c/1", since="2026-01-01T13:00:00.000000Z")


@pytest.mark.parametrize(
    ("mine", "rivals", "expected"),
    [
        pytest.param(CLAIMING, [], ACTING, id="alone, it acts"),
        pytest.param(ACTING, [], ACTING, id="alone, it goes on"),
        pytest.param(WAITING, [], CLAIMING, id="once the other has gone it claims before it acts"),
        pytest.param(CLAIMING, [(YOUNGER, ACTING)], WAITING, id="who acts goes on"),
        pytest.param(CLAIMING, [(OLDER, ACTING)], WAITING, id="who comes later waits"),
        pytest.param(WAITING, [(YOUNGER, ACTING)], WAITING, id="an older one that waits waits on"),
        pytest.param(ACTING, [(OLDER, WAITING)], ACTING, id="nobody yields to one that waits"),
        pytest.param(ACTING, [(OLDER, CLAIMING)], ACTING, id="nor to one that claims"),
        pytest.param(ACTING, [(YOUNGER, ACTING)], ACTING, id="of two that act the older goes on"),
        pytest.param(ACTING, [(OLDER, ACTING)], WAITING, id="of two that act the younger waits"),
        pytest.param(
            CLAIMING, [(YOUNGER, CLAIMING)], CLAIMING, id="of two that claim the older stays"
        ),
        pytest.param(
            CLAIMING, [(OLDER, CLAIMING)], WAITING, id="of two that claim the younger waits"
        ),
        pytest.param(
            CLAIMING, [(OLDER, WAITING)], ACTING, id="who has claimed acts beside who waits"
        ),
        pytest.param(WAITING, [(OLDER, WAITING)], WAITING, id="of two that wait the older is next"),
        pytest.param(WAITING, [(YOUNGER, WAITING)], CLAIMING, id="and claims"),
        pytest.param(WAITING, [(YOUNGER, CLAIMING)], WAITING, id="nobody claims beside another"),
    ],
)
def test_what_a_run_says_next(
    mine: Standing, rivals: list[tuple[Claim, Standing]], expected: Standing
) -> None:
    seen = [replace(rival, standing=standing) for rival, standing in rivals]
    assert stand(replace(MINE, standing=mine), seen) is expected


@pytest.mark.parametrize("first", [CLAIMING, WAITING])
def test_of_two_that_see_each_other_never_both_act(first: Standing) -> None:
    """Each writes what it says, sees the other, and judges; whatever the order."""
    one, other = replace(MINE, standing=first), replace(OLDER, standing=CLAIMING)
    for turn in range(12):
        if turn % 2:
            one = replace(one, standing=stand(one, [other]))
        else:
            other = replace(other, standing=stand(other, [one]))
        assert [one.standing, other.standing].count(ACTING) < 2
    assert [one.standing, other.standing].count(ACTING) == 1


@pytest.mark.parametrize(
    ("mine", "other", "expected"),
    [
        pytest.param((), (), True, id="both have all namespaces"),
        pytest.param(("a",), (), True, id="one has all"),
        pytest.param(("a", "b"), ("b",), True, id="one is common"),
        pytest.param(("a",), ("b",), False, id="none is common"),
    ],
)
def test_whose_jobs_are_the_same(
    mine: tuple[str, ...], other: tuple[str, ...], expected: bool
) -> None:
    one, two = replace(MINE, namespaces=mine), replace(OLDER, namespaces=other)
    assert overlap(one, two) is overlap(two, one) is expected


@pytest.mark.parametrize(
    ("mine", "other", "expected"),
    [
        pytest.param({"named_in": ()}, {"named_in": ()}, True, id="both look everywhere"),
        pytest.param({"named_in": ("a", "c")}, {"named_in": ("b", "c")}, True, id="both look at c"),
        pytest.param({"named_in": ("a",)}, {"named_in": ("b",)}, False, id="nowhere do both look"),
        pytest.param({"named_in": ("a", "b")}, {}, True, id="it looks where the other controls"),
        pytest.param({"named_in": ("a",)}, {}, False, id="it does not look there"),
        pytest.param(
            {"named_in": ()},
            {"named_in": (), "kinds": ("TrainJob",)},
            False,
            id="TrainJobs cannot name a controller",
        ),
        pytest.param(
            {"named_in": (), "kinds": ("Job",)},
            {"named_in": (), "kinds": ("RayJob", "Job")},
            True,
            id="Jobs name theirs, and are controlled by that alone",
        ),
        pytest.param(
            {"named_in": (), "kinds": ("Job", "TrainJob")},
            {"named_in": (), "kinds": ("RayJob", "TrainJob")},
            False,
            id="of what can name a controller they have no kind in common",
        ),
    ],
)
def test_who_controls_what_names_it_meets_others_wherever_it_looks(
    mine: dict[str, tuple[str, ...]], other: dict[str, tuple[str, ...]], expected: bool
) -> None:
    """One controls the namespace a, the other b."""
    one = replace(MINE, namespaces=("a",), **mine)  # type: ignore[arg-type]  # fields of a Claim
    two = replace(OLDER, namespaces=("b",), **other)  # type: ignore[arg-type]
    assert overlap(one, two) is overlap(two, one) is expected


MANY = tuple(f"team-{number:03}" for number in range(90))


@pytest.mark.parametrize("named_in", [None, (), MANY], ids=["nowhere", "everywhere", "in many"])
def test_a_claim_is_read_as_it_was_written(named_in: tuple[str, ...] | None) -> None:
    """Of many namespaces none is cut off: in it two would act."""
    claim = replace(MINE, namespaces=MANY, named_in=named_in)
    lease = manifest_of(claim, "jobledger", 15, datetime(2026, 1, 1, tzinfo=UTC))
    assert claim_of(lease) == claim


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({}, ((), BOTH, None), id="all jobs of the cluster"),
        pytest.param({"namespaces": ("a",)}, (("a",), BOTH, None), id="all of a namespace"),
        pytest.param(
            {"control": "namespaces", "control_namespaces": ("a",)},
            (("a",), BOTH, ()),
            id="those of a namespace, and RayJobs elsewhere that name this controller",
        ),
        pytest.param(
            {"control": "namespaces", "control_namespaces": ("a",), "namespaces": ("a", "b")},
            (("a",), BOTH, ("a", "b")),
            id="the same where it looks at two namespaces only",
        ),
        pytest.param(
            {"control": "namespaces", "namespaces": ("b",)},
            (("b",), ("RayJob",), None),
            id="no namespace to control: those that name it",
        ),
        pytest.param(
            {"control": "managed-by", "namespaces": ("b",)},
            (("b",), ("RayJob",), None),
            id="those that name it, and so no TrainJob",
        ),
        pytest.param(
            {"control": "managed-by", "job_kinds": ("TrainJob", "Job")},
            ((), ("Job",), None),
            id="the Jobs that name it",
        ),
        pytest.param(
            {"control": "managed-by", "job_kinds": ("TrainJob",)},
            ((), (), None),
            id="nothing at all",
        ),
    ],
)
def test_what_a_run_claims_is_what_it_controls(
    settings: dict[str, object],
    expected: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...] | None],
) -> None:
    given = Settings(**settings)  # type: ignore[arg-type]  # as the row has it
    claim = claim_of_run(given, "a/1", SimulatedClock(datetime(2026, 1, 1, tzinfo=UTC)))
    assert (claim.namespaces, claim.kinds, claim.named_in) == expected


def test_ledgers_of_different_kinds_of_job_have_nothing_in_common() -> None:
    assert not overlap(replace(MINE, kinds=("RayJob",)), replace(OLDER, kinds=("TrainJob",)))


@pytest.mark.parametrize(
    ("rival", "expected"),
    [
        pytest.param(
            replace(OLDER, database="7/2/5/public", position=90),
            "a copy of this ledger, 10 events shorter",
            id="a backup that was restored",
        ),
        pytest.param(
            replace(OLDER, database="7/2/5/public", position=101),
            "a copy of this ledger, 1 event longer",
            id="the primary that was left",
        ),
        pytest.param(
            replace(OLDER, database="8/1/5/public", origin="bb"),
            "a ledger of its own",
            id="another ledger",
        ),
        pytest.param(
            OLDER,
            "the same database under another name of the cluster, or a copy of its files",
            id="a copy of the files",
        ),
    ],
)
def test_what_the_other_ledger_is(rival: Claim, expected: str) -> None:
    assert kinship(MINE, rival) == expected


@pytest.mark.parametrize(
    ("position", "expected"),
    [(90, "10 events shorter"), (101, "1 event longer"), (100, "as long as that one")],
)
def test_what_one_of_two_ledgers_is_to_the_other(position: int, expected: str) -> None:
    rival = replace(OLDER, database="7/2/5/public", position=position)
    assert kinship(MINE, rival, "that of a") == f"a copy of that of a, {expected}"
