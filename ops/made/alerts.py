"""Alerts for Prometheus, each with a section in `docs/howto/runbooks.md`.

An alert is something that a person has to do. `page` cannot wait until the morning: jobs stand
still, or the log is no longer what it was.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

RUNBOOKS = "https://github.com/jobledger/jobledger/blob/main/docs/howto/runbooks.md"
MARK = "# Made by `python -m ops.made`. Change ops/made/alerts.py.\n"

BY_POD = "namespace, pod"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One alert."""

    name: str
    summary: str
    """What is wrong, in one sentence."""
    expr: str
    lasting: str
    """How long it holds before anybody is called; a duration of Prometheus."""
    page: bool = False


ALERTS = (
    Alert(
        name="JobledgerAbsent",
        summary="No replica of Jobledger is scraped: perhaps none runs",
        expr="absent(jobledger_shards_held)",
        lasting="5m",
        page=True,
    ),
    Alert(
        name="JobledgerShardsUnheld",
        summary="Only {{ $value }} of 16 shards are worked on in {{ $labels.namespace }}: the jobs "
        "of the others stand still",
        expr="sum by (namespace) (jobledger_shards_worked_on) < 16",
        lasting="5m",
        page=True,
    ),
    Alert(
        name="JobledgerLedgerDown",
        summary="{{ $labels.pod }} cannot reach its ledger",
        expr=f"min by ({BY_POD}) (jobledger_ledger_up) == 0",
        lasting="2m",
        page=True,
    ),
    Alert(
        name="JobledgerApiServerDown",
        summary="{{ $labels.pod }} gets no answer of the API server, or one that refuses who it is",
        expr=f"min by ({BY_POD}) (jobledger_api_server_up) == 0",
        lasting="2m",
        page=True,
    ),
    Alert(
        name="JobledgerSealsBroken",
        summary="The log or its seals are not as they were kept",
        expr="min by (namespace) (jobledger_seals_sound) == 0",
        lasting="0m",
        page=True,
    ),
    Alert(
        name="JobledgerOtherLedger",
        summary="{{ $value }} runs on other ledgers would control the same jobs",
        expr="max by (namespace) (jobledger_other_ledgers) > 0",
        lasting="2m",
        page=True,
    ),
    Alert(
        name="JobledgerLedgerBehind",
        summary="{{ $value }} jobs are held, because the ledger is older than the cluster",
        expr="sum by (namespace) (jobledger_ledger_behind_jobs) > 0",
        lasting="5m",
        page=True,
    ),
    Alert(
        name="JobledgerInboxFull",
        summary="{{ $value }} observations wait in {{ $labels.pod }}",
        expr=f"min_over_time((sum by ({BY_POD}) (jobledger_inbox_observations))[10m:1m]) > 1000",
        lasting="1m",
    ),
    Alert(
        name="JobledgerAppendsSlow",
        summary="One append in a hundred takes {{ $value | humanizeDuration }} or longer",
        expr="histogram_quantile(0.99, sum by (namespace, le) "
        "(rate(jobledger_append_seconds_bucket[5m]))) > 1",
        lasting="10m",
    ),
    Alert(
        name="JobledgerDecisionsLate",
        summary="One decision in a hundred is carried out {{ $value | humanizeDuration }} late",
        expr="histogram_quantile(0.99, sum by (namespace, le) "
        "(rate(jobledger_decision_lateness_seconds_bucket[10m]))) > 15",
        lasting="10m",
    ),
    Alert(
        name="JobledgerEffectsRefused",
        summary="{{ $labels.kind }} is refused by the API server again and again",
        expr="sum by (namespace, kind) "
        '(increase(jobledger_effects_total{outcome="failed"}[15m])) > 5',
        lasting="5m",
    ),
    Alert(
        name="JobledgerStatusNotWritten",
        summary="More than one write of a status in ten does not succeed",
        expr="sum by (namespace) "
        '(rate(jobledger_status_writes_total{outcome=~"refused|failed"}[10m])) '
        "/ sum by (namespace) (rate(jobledger_status_writes_total[10m])) > 0.1",
        lasting="10m",
    ),
    Alert(
        name="JobledgerHeadsUnanswered",
        summary="More than half of the questions to Ray heads are not answered",
        expr='sum by (namespace) (rate(jobledger_ray_polls_total{answer="unanswered"}[10m])) '
        "/ sum by (namespace) (rate(jobledger_ray_polls_total[10m])) > 0.5",
        lasting="10m",
    ),
    Alert(
        name="JobledgerObservationPoisoned",
        summary="The rules could not handle an observation: a bug",
        expr="sum by (namespace) (increase(jobledger_poisoned_observations_total[1h])) > 0",
        lasting="0m",
    ),
    Alert(
        name="JobledgerReplicaFenced",
        summary="A replica wrote for shards that it had lost, again and again",
        expr="sum by (namespace) "
        '(increase(jobledger_append_refusals_total{outcome="fenced"}[30m])) > 3',
        lasting="0m",
    ),
    Alert(
        name="JobledgerClocksDisagree",
        summary="Clocks are apart, so that nothing ends a job",
        expr="max by (namespace) (jobledger_clocks_disagree) > 0",
        lasting="5m",
    ),
    Alert(
        name="JobledgerControlRefused",
        summary="{{ $labels.kind }}s are only recorded: another controller writes their status",
        expr="max by (kind) (jobledger_control_refused) > 0",
        lasting="5m",
    ),
    Alert(
        name="JobledgerJobsSlowed",
        summary="{{ $value }} jobs change more often than their budget allows",
        expr="sum by (namespace) (jobledger_jobs_slowed) > 0",
        lasting="30m",
    ),
    Alert(
        name="JobledgerReportsBehind",
        summary="Reports do not reflect the last {{ $value | humanizeDuration }}",
        expr="max by (namespace) (jobledger_report_lag_seconds) > 900",
        lasting="15m",
    ),
    Alert(
        name="JobledgerNotificationsDead",
        summary="{{ $value }} notices for {{ $labels.target }} were given up: nobody was told",
        expr="max by (namespace, target) (jobledger_notifications_dead) > 0",
        lasting="1m",
    ),
    Alert(
        name="JobledgerNotificationsBehind",
        summary="Nobody is told of the last {{ $value | humanizeDuration }}",
        expr="max by (namespace) (jobledger_notification_lag_seconds) > 600",
        lasting="10m",
    ),
    Alert(
        name="JobledgerClustersKept",
        summary="{{ $value }} RayClusters stand though their jobs have ended",
        expr="sum by (namespace) (jobledger_kept_rayclusters) > 20",
        lasting="1h",
    ),
)
"""All alerts, those that wake somebody first."""


def alerts_file() -> str:
    """Return the rules as Prometheus reads them."""
    groups = [{"name": "jobledger", "rules": list(_rules())}]
    return MARK + yaml.safe_dump({"groups": groups}, sort_keys=False, width=100)


def _rules() -> Iterator[dict[str, Any]]:
    for alert in ALERTS:
        yield {
            "alert": alert.name,
            "expr": alert.expr,
            "for": alert.lasting,
            "labels": {"severity": "critical" if alert.page else "warning"},
            "annotations": {
                "summary": alert.summary,
                "runbook_url": f"{RUNBOOKS}#{alert.name.lower()}",
            },
        }
