"""What goes wrong in one run: each seed draws some kinds of fault and leaves out the others.

Runs in which everything fails at once exercise little but the beginnings; so each kind is there or
not, by the toss of a coin.
"""

from dataclasses import dataclass
from random import Random

from tests.simulation.training import is_real

PRESENT = 0.5
"""Probability that a kind of fault belongs to a run."""

TRAINS_EVERY = 5
"""Every so manieth seed has TrainJobs, with a RayJob beside them or none."""

BATCHES_EVERY, FIRST_BATCH = 12, 9
"""Every so manieth seed, from the second number on, has Jobs, with a RayJob beside them or none."""

LAPSES_EVERY, FIRST_LAPSE = 9, 6
"""In every so manieth seed, from the second number on, what a process holds lapses for a moment."""

STEPS_EVERY, STEPS_FROM = 14, 8
"""Of so many seeds two, from the second number on, take shards over one by one."""


RESTORES_EVERY = 4
"""In every so manieth of the seeds with upheavals etcd may be restored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Probabilities per call of a port, weights per step, and the size of the run."""

    replicas: int
    jobs: int
    steps: int
    """Steps of the faulty phase."""
    crash: float
    ledger_away: float
    ledger_answer_lost: float
    api_trouble: float
    api_answer_lost: float
    api_late: float
    """The answer is lost, and the request arrives much later."""
    api_forbidden: float
    ray_trouble: float
    watch_trouble: float
    freeze: float
    """The process stands still for longer than its lease."""
    clock_step: float
    nature_trouble: float
    users: float
    slow_deletion: float
    success: float
    retry_delay_seconds: int
    turns: float
    """How quick the turn's thread is beside the others; so on."""
    workers: float
    watches: float
    nature: float


def has_trains(seed: int) -> bool:
    """Return whether a run has TrainJobs. The others draw their dice as if there were none."""
    if is_real(seed):
        return not _is_of_batches(seed)
    return seed % TRAINS_EVERY == 0


def has_batches(seed: int) -> bool:
    """Return whether a run has Jobs; as above."""
    return _is_of_batches(seed) and not has_trains(seed)


def _is_of_batches(seed: int) -> bool:
    return seed % BATCHES_EVERY == FIRST_BATCH


def has_lapses(seed: int) -> bool:
    """Return whether claims and leases lapse for a moment and come back under the same epoch."""
    return seed % LAPSES_EVERY == FIRST_LAPSE


def has_shares(seed: int) -> bool:
    """Return whether replicas share the work; in the other runs one stands by."""
    return (seed // BATCHES_EVERY if has_batches(seed) else seed) % 2 == 1


def has_restores(seed: int) -> bool:
    """Return whether etcd may be restored from a backup."""
    return seed % RESTORES_EVERY == 0


def takes_steps(seed: int) -> bool:
    """Return whether shards are taken over one by one; in the other runs all that are gained."""
    return seed % STEPS_EVERY in (STEPS_FROM, STEPS_FROM + 1)


def draw(dice: Random) -> Profile:
    """Return the faults of a run."""

    def sometimes(value: float) -> float:
        return value if dice.random() < PRESENT else 0.0

    def speed() -> float:
        return dice.choice((1.0, 3.0, 6.0))

    return Profile(
        replicas=dice.choice((1, 1, 2)),
        jobs=dice.choice((1, 2, 2, 3)),
        steps=dice.choice((100, 180, 300)),
        crash=sometimes(0.015),
        ledger_away=sometimes(0.01),
        ledger_answer_lost=sometimes(0.1),
        api_trouble=sometimes(0.15),
        api_answer_lost=sometimes(0.2),
        api_late=sometimes(0.15),
        api_forbidden=sometimes(0.1),
        ray_trouble=sometimes(0.15),
        watch_trouble=sometimes(1.5),
        freeze=sometimes(0.2),
        clock_step=sometimes(0.3),
        nature_trouble=sometimes(0.8),
        users=dice.choice((0.1, 0.3, 1.0)),
        slow_deletion=sometimes(0.5),
        success=dice.choice((0.0, 0.4, 0.9)),
        retry_delay_seconds=dice.choice((0, 0, 5)),
        turns=speed(),
        workers=speed(),
        watches=speed(),
        nature=speed(),
    )
