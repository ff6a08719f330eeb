"""Report `cost`: accelerators, CPUs and memory that jobs held, what was wasted, and the price."""

from jobledger.adapters.postgres.reports.asking.dimensions import (
    CAUSE,
    CLASS,
    FAMILY,
    JOB,
    STANDARD,
)
from jobledger.adapters.postgres.reports.asking.report import Chart, Column, Dimension, Report, Unit

_THINGS = (
    ("accelerator", "accelerator", "Accelerators"),
    ("cpu", "cpu", "CPUs"),
    ("memory_gib", "memory", "GiB of memory"),
)
"""Name in columns, name of the resource, and what it is."""

_WASTED = (
    ("failed", "by attempts that failed or were lost, up to their end"),
    ("waiting", "by other attempts before they ran"),
    ("idle", "after the end of the attempt"),
)


def _wasted_columns() -> tuple[Column, ...]:
    found = [
        Column(f"{part}_cost", Unit.MONEY, f"The part of cost {words}", rank=3)
        for part, words in _WASTED
    ]
    for rank, (name, _, what) in enumerate(_THINGS, start=2):
        found += [
            Column(
                f"{part}_{name}_seconds",
                Unit.RESOURCE_SECONDS,
                f"{what} times the seconds that they were held {words}",
                f"{part} {name.replace('_', ' ')}",
                rank=2 * rank,
            )
            for part, words in _WASTED
        ]
    return tuple(found)


_SUMS = ",\n         ".join(
    f"coalesce(sum({part}) FILTER (WHERE resource = '{resource}'), 0) AS {prefix}{name}_seconds"
    for name, resource, _ in _THINGS
    for part, prefix in (
        ("held", ""),
        ("failed", "failed_"),
        ("waiting", "waiting_"),
        ("idle", "idle_"),
    )
)

COST = Report(
    name="cost",
    summary="Accelerators, CPUs and memory that jobs held, what of it was wasted, and its price.",
    rule="An attempt holds what its Pods request: of a RayCluster the head and the workers, as "
    "many as there were at each time where KubeRay's status tells it; of a JobSet all but the "
    "initializers; of a Job as many Pods as run at once, and none while it is suspended. On a "
    "RayCluster that it selected a job holds nothing. From when to when it is held, and that an "
    "attempt is dated by its start, is as in busiest. What is wasted counts once: after the end of "
    "an attempt it is idle; else failed, if the attempt failed or was lost; else waiting, until it "
    "ran. Money is by the list of prices (`jobledger db prices`), as it was when the attempt "
    "started; what has no price costs nothing, and without any price there is none. What requests "
    "nothing of a thing, or is not known to, is not in it.",
    columns=(
        Column("cost", Unit.MONEY, "In the money of the list of prices", rank=0),
        Column("wasted_cost", Unit.MONEY, "failed_cost, waiting_cost and idle_cost", rank=1),
        *(
            Column(
                f"{name}_seconds",
                Unit.RESOURCE_SECONDS,
                f"{what} times the seconds that they were held",
                {"memory_gib": "GiB time"}.get(name, f"{name} time"),
                rank=place,
            )
            for place, (name, _, what) in enumerate(_THINGS)
        ),
        *_wasted_columns(),
        Column("attempts", Unit.COUNT, "Attempts that held something", rank=7),
    ),
    dimensions={
        **STANDARD,
        "accelerator": Dimension(
            "v.accelerator",
            "Which accelerator: its model, or the name of its resource; of CPUs and memory that of "
            "the attempt",
        ),
        "outcome": Dimension("v.outcome", "What the attempt came to; empty while it goes on"),
        "class": CLASS,
        "cause": CAUSE,
        "job": JOB,
        "family": FAMILY,
    },
    default_by=("namespace",),
    dated="v.started_at",
    order="accelerator_seconds DESC, cpu_seconds DESC",
    chart=Chart(columns=("accelerator_seconds",), title="time of accelerators"),
    # materialized: or each of the sums works out anew how long a cluster stands
    sql=f"""
WITH fact AS MATERIALIZED (
  SELECT {{keys}}v.stream_id, v.attempt, v.resource, v.price_per_hour / 3600 AS price,
         v.outcome IN ('failed', 'lost') AS has_failed,
         v.waiting_seconds
           + CASE WHEN v.stage = 'waiting' THEN v.amount * {{standing}} ELSE 0 END AS before_it_ran,
         v.running_seconds
           + CASE WHEN v.stage = 'running' THEN v.amount * {{standing}} ELSE 0 END AS running,
         v.idle_seconds
           + CASE WHEN v.stage = 'idle' THEN v.amount * {{standing}} ELSE 0 END AS idle
    FROM report_v1.resources v
   WHERE v.started_at >= :since AND v.started_at < :until{{filters}}
), parted AS (
  SELECT *, before_it_ran + running + idle AS held,
         CASE WHEN has_failed THEN before_it_ran + running ELSE 0 END AS failed,
         CASE WHEN has_failed THEN 0 ELSE before_it_ran END AS waiting
    FROM fact
), summed AS (
  SELECT {{names}}{{is_total}} AS is_total,
         sum(held * price) AS cost,
         sum((failed + waiting + idle) * price) AS wasted_cost,
         sum(failed * price) AS failed_cost,
         sum(waiting * price) AS waiting_cost,
         sum(idle * price) AS idle_cost,
         {_SUMS},
         count(DISTINCT stream_id) FILTER (WHERE attempt = 1)
           + count(DISTINCT (stream_id, attempt)) FILTER (WHERE attempt > 1) AS attempts
    FROM parted {{groups}}
)
SELECT * FROM summed""",  # noqa: S608  # our own names
)
