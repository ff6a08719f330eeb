"""Report `nodes`: on which nodes more fails than on the others."""

from jobledger.adapters.postgres.reports.asking.dimensions import (
    CAUSE,
    CLASS,
    FAMILY,
    NODE,
    REASON,
    STANDARD,
)
from jobledger.adapters.postgres.reports.asking.report import Chart, Column, Report, Unit

NODES = Report(
    name="nodes",
    summary="On which nodes more fails than on the others: a faulty card, disk or cable.",
    rule="Counted are failures of which the evidence names a node: the one of the Pod in the "
    "greatest trouble, else that of all Pods. It is dated by the instant of the failure. Expected "
    "is what a node of the same group has on average, as the other nodes tell. A node on which "
    "nothing failed is not known, so the plain mean of those that are would be too high: a failure "
    "that is the only one of its node is left out of the sum, and its node counts (Plackett's "
    "estimate of the mean of a Poisson distribution of which no zeros are seen). Nodes with more "
    "work have more failures. Many images and jobs on one node speak for the node, one image on "
    "many nodes for the program; a few failures are an accident.",
    columns=(
        Column("failures", Unit.COUNT, "Failures on this node", rank=0),
        Column(
            "expected",
            Unit.NUMBER,
            "Failures that a node of the group has on average, by the other nodes: those beyond "
            "single ones, for each of these nodes; empty: there is no other",
            rank=1,
        ),
        Column(
            "times",
            Unit.NUMBER,
            "failures / expected; empty: on no other node did more than one fail",
            "times as many",
            rank=1,
        ),
        Column("jobs", Unit.COUNT, "Jobs that failed there at least once", rank=2),
        Column("images", Unit.COUNT, "Images of theirs", rank=3),
        Column(
            "cured",
            Unit.COUNT,
            "Failures after which the next attempt succeeded, wherever it was",
            rank=4,
        ),
        Column("last_at", Unit.INSTANT, "The latest of them", "last", rank=5),
    ),
    dimensions={
        **STANDARD,
        "node": NODE,
        "class": CLASS,
        "cause": CAUSE,
        "reason": REASON,
        "family": FAMILY,
    },
    default_by=("node",),
    beside=("node",),
    apart=("node",),
    dated="v.failed_at",
    order="failures DESC",
    chart=Chart(columns=("failures",), title="failures by node", style="red"),
    sql="""
WITH fact AS (
  SELECT {keys}v.stream_id, v.node, v.image, v.failed_at,
         EXISTS (SELECT FROM report_v1.retries r WHERE r.stream_id = v.stream_id
                    AND r.attempt = v.attempt AND r.next_outcome = 'succeeded') AS cured
    FROM report_v1.failures v
   WHERE v.failed_at >= :since AND v.failed_at < :until AND v.node <> ''{filters}
), summed AS (
  SELECT {names}{is_total} AS is_total,
         count(*) AS failures,
         sum(CASE WHEN count(*) > 1 THEN count(*) ELSE 0 END) OVER (PARTITION BY {is_total}{whole})
           ::float8 - CASE WHEN count(*) > 1 THEN count(*) ELSE 0 END AS elsewhere,
         count(*) OVER (PARTITION BY {is_total}{whole}) - 1 AS others,
         count(DISTINCT stream_id) AS jobs,
         count(DISTINCT image) AS images,
         count(*) FILTER (WHERE cured) AS cured,
         max(failed_at) AS last_at
    FROM fact {groups}
)
SELECT *,
       elsewhere / nullif(others, 0) AS expected,
       failures * others / nullif(elsewhere, 0) AS times
  FROM summed""",
)
