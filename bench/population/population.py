"""The whole platform: which lives there are, and which job is born when; all from one seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from random import Random

from bench.population.habits import RELEASED, Workload, pick_user, pick_workload
from bench.population.life import MARK, Life
from bench.population.rayjobs import STOPS, RayJobLife
from bench.population.stamping import Birth
from bench.population.templates import Template, template_of
from bench.population.trainjobs import TrainJobLife

END = datetime(2026, 11, 16, tzinfo=UTC)
"""Where the data end: a Monday, midnight UTC. No event is younger."""

RELEASED_AFTER = 0.7
"""After so much of the time the new images are in use."""

_HOUR = timedelta(hours=1)
_BY_HOUR = (2, 1, 1, 1, 1, 2, 3, 6, 9, 12, 12, 11, 9, 11, 12, 12, 11, 9, 7, 6, 6, 5, 4, 3)
"""How many jobs begin in each hour of a day, in proportion."""

_BY_WEEKDAY = (10, 11, 11, 11, 10, 4, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much there is."""

    jobs: int
    days: int
    templates: int
    """Lives that are played; each stands for jobs / templates jobs."""
    open_jobs: int
    """Jobs that are not over when the data end."""
    seed: int = 20261116


SAMPLE = Size(jobs=200, days=28, templates=120, open_jobs=8, seed=20261122)
ONE_MILLION = Size(jobs=33_000, days=180, templates=1_500, open_jobs=120)
TEN_MILLION = Size(jobs=500_000, days=365, templates=3_000, open_jobs=400)
"""500,000 jobs are some 15 M events: more than the 10 M that are asked for."""


@dataclass(frozen=True, slots=True)
class Population:
    """The lives, and the jobs that are stamped from them in the order of their births."""

    templates: Sequence[Template]
    births: Sequence[Birth]

    @property
    def events(self) -> int:
        """Return how many events all jobs have."""
        return sum(len(self.templates[one.template].events) for one in self.births)


def populate(size: Size) -> Population:
    """Return the platform of a size; the same one every time."""
    dice = Random(size.seed)
    start = END - timedelta(days=size.days)
    over: list[Template] = []
    released: dict[int, Template] = {}
    for number in range(size.templates):
        before = dice.getstate()
        over.append(_played(dice, start, ""))
        after = dice.getstate()
        dice.setstate(before)
        if (twin := _released(dice, start)) is not None:
            released[number] = twin
        dice.setstate(after)
    standing = [
        _played(dice, start, STOPS[number % len(STOPS)])
        for number in range(min(60, size.open_jobs))
    ]
    births = _births(dice, size, over)
    births += _standing(dice, size, standing, len(over), len(births))
    templates = [*over, *standing]
    places = {number: len(templates) + place for place, number in enumerate(released)}
    templates += released.values()
    births = [_reborn(one, places, templates, size) for one in births]
    births.sort(key=lambda one: (one.hours, one.number))
    return Population(templates, births)


def _released(dice: Random, start: datetime) -> Template | None:
    """Return the life that comes now as it would be with a new image; None: there is no new one."""
    work = RELEASED.get(pick_workload(dice).family)
    return None if work is None else _played_by(work, dice, start, "")


def _reborn(
    one: Birth, places: Mapping[int, int], templates: Sequence[Template], size: Size
) -> Birth:
    """Return a birth, with the new image if it is late enough and the life ends in time.

    `places` says where the life with a new image is, by that of the life with the old one.
    """
    place = places.get(one.template)
    hours = size.days * 24
    if place is None or one.hours < hours * RELEASED_AFTER:
        return one
    fits = one.hours + int(templates[place].span_seconds // 3600) + 2 < hours
    return one._replace(template=place) if fits else one


def _played(dice: Random, start: datetime, stop: str) -> Template:
    return _played_by(pick_workload(dice), dice, start, stop)


def _played_by(work: Workload, dice: Random, start: datetime, stop: str) -> Template:
    user = pick_user(dice)
    born = start + timedelta(microseconds=dice.randrange(3_600_000_000))
    kind = RayJobLife if work.kind == "RayJob" else TrainJobLife
    life: Life = kind(work, user, born, dice, MARK)
    life.play(stop)  # type: ignore[attr-defined] # both kinds have it
    return template_of(life)


def _births(dice: Random, size: Size, over: Sequence[Template]) -> list[Birth]:
    """Return the jobs that are over when the data end."""
    hours = size.days * 24
    weights = list(accumulate(_weight(hour) for hour in range(hours)))
    born = []
    for number in range(size.jobs - size.open_jobs):
        template = dice.randrange(len(over))
        latest = hours - int(over[template].span_seconds // 3600) - 2
        hour = dice.choices(range(hours), cum_weights=weights)[0]
        born.append(
            Birth(number, template, hour if hour < latest else dice.randrange(max(1, latest)))
        )
    return born


def _standing(
    dice: Random, size: Size, standing: Sequence[Template], first: int, number: int
) -> list[Birth]:
    """Return the jobs that stand somewhere when the data end: a few of them for days."""
    hours = size.days * 24
    found = []
    for index in range(size.open_jobs):
        template = index % len(standing)
        since = int(dice.expovariate(1 / 9)) + (72 if index % 8 == 7 else 0)
        span = int(standing[template].span_seconds // 3600)
        hour = max(0, hours - span - since - 2)
        found.append(Birth(number + index, first + template, hour))
    return found


def _weight(hour: int) -> float:
    """Return how many jobs begin in an hour after the start, in proportion; more and more do."""
    growth = 1 + hour / (24 * 365)
    return _BY_HOUR[hour % 24] * _BY_WEEKDAY[hour // 24 % 7] * growth
