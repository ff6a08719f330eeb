"""For each alert: series with which somebody is called, and others with which nobody is."""

from dataclasses import dataclass

POD = 'namespace="jobledger", pod="a"'
OTHER = 'namespace="jobledger", pod="b"'
Series = dict[str, str]


@dataclass(frozen=True, slots=True)
class Story:
    """Values in the notation of promtool, one each minute."""

    wrong: Series
    right: Series
    minutes: int = 40
    """When it is looked at."""


def _counter(labels: str, wrong: str, right: str) -> tuple[Series, Series]:
    return {labels: wrong}, {labels: right}


def _gauge(name: str, wrong: int, right: int = 0) -> Story:
    labels = f"{name}{{{POD}}}"
    return Story({labels: f"{wrong}+0x120"}, {labels: f"{right}+0x120"})


def _histogram(name: str, slow: str) -> Story:
    """All observations are below 5 ms, or one in ten is above the bound."""
    fast, all_of_them = f'{name}_bucket{{{POD}, le="0.005"}}', f'{name}_bucket{{{POD}, le="+Inf"}}'
    bound = f'{name}_bucket{{{POD}, le="{slow}"}}'
    wrong = {fast: "0+90x60", bound: "0+90x60", all_of_them: "0+100x60"}
    return Story(wrong, {fast: "0+100x60", bound: "0+100x60", all_of_them: "0+100x60"})


STORIES: dict[str, Story] = {
    "JobledgerAbsent": Story({}, {f"jobledger_shards_held{{{POD}}}": "16+0x60"}),
    "JobledgerShardsUnheld": Story(
        {f"jobledger_shards_worked_on{{{POD}}}": "8+0x60"},
        {
            f"jobledger_shards_worked_on{{{POD}}}": "8+0x60",
            f"jobledger_shards_worked_on{{{OTHER}}}": "8+0x60",
        },
    ),
    "JobledgerLedgerDown": _gauge("jobledger_ledger_up", 0, 1),
    "JobledgerApiServerDown": _gauge("jobledger_api_server_up", 0, 1),
    "JobledgerSealsBroken": _gauge("jobledger_seals_sound", 0, 1),
    "JobledgerOtherLedger": _gauge("jobledger_other_ledgers", 1),
    "JobledgerLedgerBehind": _gauge("jobledger_ledger_behind_jobs", 3),
    "JobledgerInboxFull": Story(
        {f"jobledger_inbox_observations{{{POD}}}": "2000+0x60"},
        {f"jobledger_inbox_observations{{{POD}}}": "2000 2000 0 2000 2000 0 2000 0 2000 0x60"},
    ),
    "JobledgerAppendsSlow": _histogram("jobledger_append_seconds", "2.5"),
    "JobledgerDecisionsLate": _histogram("jobledger_decision_lateness_seconds", "60"),
    "JobledgerEffectsRefused": Story(
        {f'jobledger_effects_total{{{POD}, kind="create_cluster", outcome="failed"}}': "0+1x60"},
        {f'jobledger_effects_total{{{POD}, kind="create_cluster", outcome="faltered"}}': "0+9x60"},
    ),
    "JobledgerStatusNotWritten": Story(
        {
            f'jobledger_status_writes_total{{{POD}, outcome="written"}}': "0+8x60",
            f'jobledger_status_writes_total{{{POD}, outcome="refused"}}': "0+2x60",
        },
        {
            f'jobledger_status_writes_total{{{POD}, outcome="written"}}': "0+99x60",
            f'jobledger_status_writes_total{{{POD}, outcome="refused"}}': "0+1x60",
        },
    ),
    "JobledgerHeadsUnanswered": Story(
        {
            f'jobledger_ray_polls_total{{{POD}, answer="running"}}': "0+4x60",
            f'jobledger_ray_polls_total{{{POD}, answer="unanswered"}}': "0+6x60",
        },
        {
            f'jobledger_ray_polls_total{{{POD}, answer="running"}}': "0+6x60",
            f'jobledger_ray_polls_total{{{POD}, answer="unanswered"}}': "0+4x60",
        },
    ),
    "JobledgerObservationPoisoned": Story(
        *_counter(f"jobledger_poisoned_observations_total{{{POD}}}", "0x30 1x30", "1x60")
    ),
    "JobledgerReplicaFenced": Story(
        *_counter(
            f'jobledger_append_refusals_total{{{POD}, outcome="fenced"}}', "0+1x60", "0x30 1x30"
        )
    ),
    "JobledgerClocksDisagree": _gauge("jobledger_clocks_disagree", 1),
    "JobledgerControlRefused": Story(
        {'jobledger_control_refused{namespace="team", kind="RayJob"}': "1x60"},
        {'jobledger_control_refused{namespace="team", kind="RayJob"}': "1x10 0x50"},
    ),
    "JobledgerJobsSlowed": _gauge("jobledger_jobs_slowed", 2),
    "JobledgerReportsBehind": _gauge("jobledger_report_lag_seconds", 1000, 60),
    "JobledgerNotificationsDead": Story(
        {f'jobledger_notifications_dead{{{POD}, target="chat"}}': "0+0x30 1+0x30"},
        {f'jobledger_notifications_dead{{{POD}, target="chat"}}': "0+0x60"},
    ),
    "JobledgerNotificationsBehind": _gauge("jobledger_notification_lag_seconds", 700, 60),
    "JobledgerClustersKept": Story(
        {f"jobledger_kept_rayclusters{{{POD}}}": "21+0x120"},
        {f"jobledger_kept_rayclusters{{{POD}}}": "20+0x120"},
        minutes=90,
    ),
}
