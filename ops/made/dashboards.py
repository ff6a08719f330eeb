"""Dashboards for Grafana: the controller, all RayJobs, one RayJob.

In the classic form of a dashboard, schema version 39, which Grafana 10 to 12 take in by import or
from a ConfigMap; a test reads them with Grafana's own types. The data source is a variable, so
that nothing has to be edited.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SCHEMA_VERSION = 39
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDE, HALF, QUARTER, HEIGHT = 24, 12, 6, 8

LINK = {
    "type": "dashboards",
    "tags": ["jobledger"],
    "title": "Jobledger",
    "asDropdown": True,
    "icon": "dashboard",
    "tooltip": "",
    "targetBlank": False,
    "includeVars": False,
    "keepTime": True,
}
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "timeseries": {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
    "stat": {
        "graphMode": "none",
        "colorMode": "value",
        "justifyMode": "auto",
        "textMode": "auto",
        "wideLayout": True,
        "showPercentChange": False,
        "percentChangeColorMode": "standard",
        "orientation": "auto",
        "reduceOptions": {"calcs": ["lastNotNull"], "values": False, "fields": ""},
    },
    "table": {"frameIndex": 0, "showHeader": True},
}
"""Form of a panel -> what Grafana's own schema requires of it."""

HERE = 'namespace=~"$namespace"'
"""The namespaces in which the controllers run that are looked at."""
JOBS = 'namespace=~"$namespace"'
"""The namespaces of jobs."""
ONE = 'namespace="$namespace", name="$name"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel: lines, or the latest values where it is `stat` or `table`."""

    title: str
    exprs: Mapping[str, str]
    """Legend -> PromQL; a legend may name labels as {{kind}}."""
    unit: str = "short"
    """Name of a unit of Grafana."""
    form: str = "timeseries"
    width: int = HALF


def _quantiles(metric: str, by: str = "") -> dict[str, str]:
    """Return the expressions of median and 99th percentile of a histogram."""
    of = f"sum by (le{by}) (rate({metric}_bucket{{{HERE}}}[$__rate_interval]))"
    return {f"p{part}": f"histogram_quantile(0.{part}, {of})" for part in ("50", "99")}


def _rate(metric: str, label: str) -> dict[str, str]:
    """Return the expression of a counter per second, by a label."""
    rate = f"sum by ({label}) (rate({metric}{{{HERE}}}[$__rate_interval]))"
    return {f"{{{{{label}}}}}": rate}


CONTROLLER = (
    Panel(
        title="Shards worked on, of 16",
        exprs={"shards": f"sum(jobledger_shards_worked_on{{{HERE}}})"},
        form="stat",
        width=QUARTER,
    ),
    Panel(
        title="Ledger reached",
        exprs={"{{pod}}": f"min by (pod) (jobledger_ledger_up{{{HERE}}})"},
        form="stat",
        width=QUARTER,
    ),
    Panel(
        title="Seals sound",
        exprs={"sound": f"min(jobledger_seals_sound{{{HERE}}})"},
        form="stat",
        width=QUARTER,
    ),
    Panel(
        title="Jobs in which something is left to do",
        exprs={"jobs": f"sum(jobledger_jobs_held{{{HERE}}})"},
        form="stat",
        width=QUARTER,
    ),
    Panel(
        title="Traffic: events per second, by type",
        exprs=_rate("jobledger_events_appended_total", "type"),
        unit="ops",
    ),
    Panel(
        title="Traffic: observations per second, by kind",
        exprs=_rate("jobledger_observations_total", "kind"),
        unit="ops",
    ),
    Panel(title="Latency: an append", exprs=_quantiles("jobledger_append_seconds"), unit="s"),
    Panel(
        title="Latency: decisions, after they were due",
        exprs=_quantiles("jobledger_decision_lateness_seconds"),
        unit="s",
    ),
    Panel(
        title="Latency: a try to act outside, 99th percentile by kind",
        exprs={
            "{{kind}}": "histogram_quantile(0.99, sum by (le, kind) "
            f"(rate(jobledger_effect_seconds_bucket{{{HERE}}}[$__rate_interval])))"
        },
        unit="s",
    ),
    Panel(
        title="Errors: tries to act outside, by outcome",
        exprs=_rate("jobledger_effects_total", "outcome"),
        unit="ops",
    ),
    Panel(
        title="Errors: writes of a status, by outcome",
        exprs=_rate("jobledger_status_writes_total", "outcome"),
        unit="ops",
    ),
    Panel(
        title="Errors: questions to Ray heads, by answer",
        exprs=_rate("jobledger_ray_polls_total", "answer"),
        unit="ops",
    ),
    Panel(
        title="Saturation: observations that wait",
        exprs={"{{pod}}": f"sum by (pod) (jobledger_inbox_observations{{{HERE}}})"},
    ),
    Panel(
        title="Notices that wait or were given up, by target",
        exprs={
            "{{target}} waits": f"max by (target) (jobledger_notifications_waiting{{{HERE}}})",
            "{{target}} dead": f"max by (target) (jobledger_notifications_dead{{{HERE}}})",
        },
    ),
    Panel(
        title="Saturation: processor",
        exprs={
            "{{pod}}": f"rate(process_cpu_seconds_total{{{HERE}}}[$__rate_interval]) "
            f"and on (namespace, pod) jobledger_replicas{{{HERE}}}"
        },
    ),
    Panel(
        title="Saturation: memory",
        exprs={
            "{{pod}}": f"process_resident_memory_bytes{{{HERE}}} "
            f"and on (namespace, pod) jobledger_replicas{{{HERE}}}"
        },
        unit="bytes",
    ),
    Panel(
        title="Reports behind the log",
        exprs={"seconds": f"max(jobledger_report_lag_seconds{{{HERE}}})"},
        unit="s",
    ),
    Panel(
        title="Jobs that are held, slowed or only recorded",
        exprs={
            "ledger behind": f"sum(jobledger_ledger_behind_jobs{{{HERE}}})",
            "slowed": f"sum(jobledger_jobs_slowed{{{HERE}}})",
            "recorded only: {{kind}}": "max by (kind) (jobledger_control_refused)",
            "clocks apart": f"max(jobledger_clocks_disagree{{{HERE}}})",
            "other ledgers": f"max(jobledger_other_ledgers{{{HERE}}})",
        },
    ),
    Panel(
        title="Appends refused, observations poisoned",
        exprs={
            **_rate("jobledger_append_refusals_total", "outcome"),
            "poisoned": "sum(rate("
            f"jobledger_poisoned_observations_total{{{HERE}}}[$__rate_interval]))",
        },
        unit="ops",
    ),
)

_STATUS = f"max by (namespace, name, deployment_status) (kuberay_job_deployment_status{{{JOBS}}})"
_TOOK = "kuberay_job_execution_duration_seconds"

ALL_JOBS = (
    Panel(
        title="RayJobs by status",
        exprs={"{{deployment_status}}": f"count by (deployment_status) ({_STATUS})"},
    ),
    Panel(
        title="RayJobs by namespace",
        exprs={
            "{{namespace}}": "count by (namespace) "
            f"(max by (namespace, name) (kuberay_job_info{{{JOBS}}}))"
        },
    ),
    Panel(
        title="How long attempts took, by how they ended: the median",
        exprs={
            "{{job_deployment_status}}": "quantile by (job_deployment_status) "
            f"(0.5, {_TOOK}{{{JOBS}}})"
        },
        unit="s",
    ),
    Panel(
        title="RayJobs with the most attempts that failed",
        exprs={
            "{{namespace}}/{{name}}": "topk(20, count by (namespace, name) "
            f'({_TOOK}{{{JOBS}, job_deployment_status=~"Retrying|Failed"}}))'
        },
        form="table",
    ),
    Panel(
        title="RayJobs that failed",
        exprs={
            "{{namespace}}/{{name}}": "max by (namespace, name) "
            f'(kuberay_job_deployment_status{{{JOBS}, deployment_status="Failed"}})'
        },
        form="table",
        width=WIDE,
    ),
)

ONE_JOB = (
    Panel(
        title="Status",
        exprs={
            "{{deployment_status}}": "max by (deployment_status) "
            f"(kuberay_job_deployment_status{{{ONE}}})"
        },
        form="stat",
    ),
    Panel(
        title="Attempts that ended",
        exprs={
            "attempts": f"count(max by (retry_count, job_deployment_status) ({_TOOK}{{{ONE}}}))"
        },
        form="stat",
    ),
    Panel(
        title="How long each attempt took; the number is how many had failed before it",
        exprs={
            "{{retry_count}} {{job_deployment_status}}": "max by (retry_count, "
            f"job_deployment_status) ({_TOOK}{{{ONE}}})"
        },
        unit="s",
        form="table",
    ),
    Panel(
        title="Status over time",
        exprs={
            "{{deployment_status}}": "max by (deployment_status) "
            f"(kuberay_job_deployment_status{{{ONE}}})"
        },
    ),
)


def controller_dashboard() -> str:
    """Return the dashboard of the service."""
    choices = [_choice("namespace", "label_values(jobledger_replicas, namespace)", many=True)]
    return _dashboard("jobledger-controller", "Jobledger: controller", CONTROLLER, choices)


def jobs_dashboard() -> str:
    """Return the dashboard of all RayJobs."""
    choices = [_choice("namespace", "label_values(kuberay_job_info, namespace)", many=True)]
    return _dashboard("jobledger-jobs", "Jobledger: RayJobs", ALL_JOBS, choices)


def job_dashboard() -> str:
    """Return the dashboard of one RayJob."""
    named = 'label_values(kuberay_job_info{namespace="$namespace"}, name)'
    choices = [_choice("namespace", "label_values(kuberay_job_info, namespace)")]
    return _dashboard(
        "jobledger-job", "Jobledger: one RayJob", ONE_JOB, [*choices, _choice("name", named)]
    )


DASHBOARDS: Mapping[str, Callable[[], str]] = {
    "controller.json": controller_dashboard,
    "jobs.json": jobs_dashboard,
    "job.json": job_dashboard,
}
"""File in `ops/grafana` -> what makes it."""


def _dashboard(uid: str, title: str, panels: Sequence[Panel], choices: list[dict[str, Any]]) -> str:
    source = {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Source"}
    made = {
        "uid": uid,
        "title": title,
        "tags": ["jobledger"],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "editable": True,
        "time": {"from": "now-6h", "to": "now"},
        "refresh": "1m",
        "timezone": "",
        "annotations": {"list": []},
        "links": [LINK],
        "templating": {"list": [source, *choices]},
        "panels": _placed(panels),
    }
    return json.dumps(made, indent=2) + "\n"


def _choice(name: str, query: str, *, many: bool = False) -> dict[str, Any]:
    return {
        "name": name,
        "label": name.capitalize(),
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": query, "refId": name},
        "definition": query,
        "refresh": 2,
        "sort": 1,
        "multi": many,
        "includeAll": many,
        **({"allValue": ".*", "current": {"text": "All", "value": "$__all"}} if many else {}),
    }


def _placed(panels: Sequence[Panel]) -> list[dict[str, Any]]:
    """Return the panels side by side, as many as fit into a row of 24 columns."""
    placed, x, y = [], 0, 0
    for number, panel in enumerate(panels, 1):
        if x + panel.width > WIDE:
            x, y = 0, y + HEIGHT
        place = {"x": x, "y": y, "w": panel.width, "h": HEIGHT}
        placed.append({"id": number, "gridPos": place, **_panel(panel)})
        x += panel.width
    return placed


def _panel(panel: Panel) -> dict[str, Any]:
    latest = panel.form != "timeseries"
    targets = [
        {
            "refId": chr(ord("A") + number),
            "datasource": SOURCE,
            "expr": expr,
            "legendFormat": legend,
            "instant": latest,
            "range": not latest,
            **({"format": "table"} if panel.form == "table" else {}),
        }
        for number, (legend, expr) in enumerate(panel.exprs.items())
    ]
    return {
        "type": panel.form,
        "title": panel.title,
        "datasource": SOURCE,
        "targets": targets,
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "options": OPTIONS[panel.form],
    }
