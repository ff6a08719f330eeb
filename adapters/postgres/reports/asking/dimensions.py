"""The dimensions by which every report can be grouped and filtered."""

import hashlib
import re
from collections.abc import Mapping

from jobledger.adapters.postgres.reports.asking.report import Column, Dimension, Unit

STANDARD: Mapping[str, Dimension] = {
    "cluster": Dimension("v.cluster", "Kubernetes cluster, as the installation calls it"),
    "namespace": Dimension("v.namespace", "Namespace of the job"),
    "queue": Dimension("v.queue", "Kueue's queue; empty: none"),
    "user": Dimension("v.user_name", "Who it belongs to, by the labels of report_user_labels"),
    "image": Dimension("v.image", "Image of the head or of the trainer"),
    "framework": Dimension("v.framework", "ray, or the framework of the TrainJob's runtime"),
    "runtime": Dimension("v.runtime", "Submission mode of a RayJob, runtime of a TrainJob"),
    "kind": Dimension("v.kind", "RayJob, TrainJob or Job"),
}
"""What every fact has; `v` is the view that a report reads."""

JOB = Dimension(
    "v.namespace || '/' || v.name", "Namespace and name of the job; its cluster comes with it"
)

FAMILY = Dimension(
    r"v.namespace || '/' || regexp_replace(v.name, "
    r"'(-([0-9a-z]*[0-9][0-9a-z]*|[bcdfghjklmnpqrstvwxz2456789]{5}))+$', '')",
    "Namespace and name without what tells runs apart: endings with a digit in them, and the five "
    "characters of generateName",
)

CLASS = Dimension(
    "v.failure_class", "Retry group of the cause: application, preemption, head-lost and the like"
)
CAUSE = Dimension("v.cause", "What it failed of, by the rules of `jobledger explain`")
NODE = Dimension(
    "coalesce(v.node, '')",
    "Node on which it failed; empty: no evidence says it, or several may be meant",
)
REASON = Dimension("v.reason", "Reason, as in the job's status")

FAILED: Mapping[str, Dimension] = {
    **STANDARD,
    "class": CLASS,
    "cause": CAUSE,
    "reason": REASON,
    "job": JOB,
    "family": FAMILY,
}
"""What every attempt that failed has besides."""

BUCKETS: Mapping[str, str] = {
    "hour": "First instant of the hour",
    "day": "First instant of the day, in the time zone that was asked for",
    "week": "First instant of the week (it begins on Monday), in that time zone",
}
"""Pieces of time that rows can be grouped by."""

LABEL = re.compile(r"label:([A-Za-z0-9][A-Za-z0-9._/-]{0,316})")
"""Groups by a label of jobs; the names that Kubernetes allows have no other characters."""

NAME_MAX = 59
"""Characters of a column, with `key_` before it 63. Source: Postgres' NAMEDATALEN."""

GROUPED = "stream_id, name, cluster, namespace, kind, framework, runtime, queue, user_name, image"
"""Columns of every view that `STANDARD`, `JOB` and `FAMILY` need, where a report joins two."""

OF_FAILURES: Mapping[str, str] = {
    "cause": f":is_cause IN ({CAUSE.sql}, {CLASS.sql})",
}
"""What a report that can be grouped by it can be narrowed by besides: a cause, or a retry group."""

FILTERS = ("cluster", "namespace", "queue", "user", "image", "framework", "kind")
"""What every report can be narrowed by."""


def expression(name: str, dimensions: Mapping[str, Dimension], dated: str) -> str:
    """Return the SQL of a dimension, or of a piece of time by when the pieces begin."""
    if name in BUCKETS:
        starts = f"CAST(:{name}_starts AS timestamptz[])"
        return f"({starts})[width_bucket({dated}, {starts})]"
    if name not in dimensions and (label := LABEL.fullmatch(name)):
        return (
            f"coalesce((SELECT l.labels ->> '{label[1]}' FROM report_v1.jobs l"  # noqa: S608  # LABEL
            " WHERE l.stream_id = v.stream_id), '')"
        )
    return dimensions[name].sql


def in_sql(name: str) -> str:
    """Return what a column of an answer is called in SQL: Postgres cuts off what is too long."""
    if len(name) <= NAME_MAX:
        return name
    return f"{name[: NAME_MAX - 13]}~{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def key_column(name: str, dimensions: Mapping[str, Dimension]) -> Column:
    """Return the column of the answer that a dimension makes."""
    if name in BUCKETS:
        return Column(name, Unit.INSTANT, BUCKETS[name], rank=0)
    if name not in dimensions:
        return Column(name, Unit.TEXT, "Value of this label; empty: it has none", rank=0)
    return Column(name, Unit.TEXT, dimensions[name].meaning, rank=0)
