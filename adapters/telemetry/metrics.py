"""The catalogue of metrics, each declared once.

Names as Prometheus has them, units in the names, help texts that say what is counted.
"""

from functools import partial

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

_LATENESS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 3600)
_SHORT = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class _Catalogue:
    """Metrics that are all declared in one registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self._counter = partial(Counter, registry=registry)
        self._gauge = partial(Gauge, registry=registry)
        self._histogram = partial(Histogram, registry=registry)


class Metrics(_Catalogue):
    """The metrics of one service."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        super().__init__(registry)
        self._declare_log()
        self._declare_reports()
        self._declare_doing()
        self._declare_caution()
        self._declare_sharing()

    def _declare_log(self) -> None:
        """Declare what is counted on the way into the log."""
        self.events = self._counter(
            "jobledger_events_appended_total", "Events appended to the log, by type.", ["type"]
        )
        self.observations = self._counter(
            "jobledger_observations_total",
            "Observations taken in, by kind and whether they brought news.",
            ["kind", "news"],
        )
        self.append_seconds = self._histogram(
            "jobledger_append_seconds",
            "Time of one append call, from the first byte to the commit.",
            buckets=_SHORT,
        )
        self.append_events = self._histogram(
            "jobledger_append_batch_events",
            "Events per append call.",
            buckets=(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000),
        )
        self.inbox = self._gauge(
            "jobledger_inbox_observations", "Observations that wait for their turn."
        )
        self.jobs = self._gauge(
            "jobledger_jobs_held",
            "Jobs whose state is held in memory: those in which something is left to do.",
        )
        self.poisoned = self._counter(
            "jobledger_poisoned_observations_total",
            "Observations that the rules could not handle; each is a bug, and is in the log lines.",
        )
        self.conflicts = self._counter(
            "jobledger_append_refusals_total",
            "Streams that an append refused, by outcome.",
            ["outcome"],
        )
        self.ledger_up = self._gauge(
            "jobledger_ledger_up",
            "1 while the last append or read of the log succeeded, 0 while it is being retried.",
        )

        self.seals_sound = self._gauge(
            "jobledger_seals_sound",
            "0 if sealing last found a seal or the log not as it was kept, 1 if it found it sound, "
            "or has not looked yet.",
        )
        self.seals_sound.set(1)

    def tell_report_lag(self, events: int, seconds: float) -> None:
        """Note how far the reporting tables are behind the log."""
        self.report_lag_events.set(events)
        self.report_lag_seconds.set(seconds)

    def _declare_reports(self) -> None:
        """Declare how far the reporting tables are."""
        self.report_lag_events = self._gauge(
            "jobledger_report_lag_events",
            "Events of the log that the reporting views do not reflect yet.",
        )
        self.report_lag_seconds = self._gauge(
            "jobledger_report_lag_seconds",
            "How long the oldest of them has been waiting; 0 if there are none.",
        )

    def _declare_doing(self) -> None:
        """Declare what is counted on the way out: effects, writes, polls, decisions."""
        self.effects = self._counter(
            "jobledger_effects_total",
            "Tries to act outside, by kind and outcome.",
            ["kind", "outcome"],
        )
        self.effect_seconds = self._histogram(
            "jobledger_effect_seconds",
            "Time of one try to act outside, by kind.",
            ["kind"],
            buckets=_SHORT,
        )
        self.lateness_seconds = self._histogram(
            "jobledger_decision_lateness_seconds",
            "From the instant a decision was due until its firing was committed, by kind.",
            ["kind"],
            buckets=_LATENESS,
        )
        self.polls = self._counter(
            "jobledger_ray_polls_total", "Questions to Ray heads, by what came back.", ["answer"]
        )
        self.kept_clusters = self._gauge(
            "jobledger_kept_rayclusters",
            "RayClusters of ended jobs that stay: no rule of a deletionStrategy covers them.",
        )
        self.hints = self._counter(
            "jobledger_ray_hints_total",
            "Hints that a Ray job may have ended, before it was asked about.",
        )
        self.status_writes = self._counter(
            "jobledger_status_writes_total", "Writes of .status, by outcome.", ["outcome"]
        )
        self.captures = self._counter(
            "jobledger_evidence_captures_total",
            "Captures of evidence in the log, by what for: `pod` when one was seen to fail "
            "or to go, `failure`, `waiting`, `deleted`, or the effect before which it was.",
            ["occasion"],
        )
        self.kubernetes_events = self._counter(
            "jobledger_kubernetes_events_total", "Kubernetes Events sent or dropped.", ["outcome"]
        )

    def _declare_caution(self) -> None:
        """Declare what tells why nothing is done for a job, or not yet, or not shown."""
        self.plugin_conditions_refused = self._counter(
            "jobledger_plugin_conditions_refused_total",
            "Conditions of TrainJob plugins that were not taken, as written down, by plugin.",
            ["plugin"],
        )
        self.control_refused = self._gauge(
            "jobledger_control_refused",
            "1 where jobs are only recorded, because another controller was met at work.",
            ["kind", "namespace"],
        )
        self.api_server_up = self._gauge(
            "jobledger_api_server_up",
            "0 while the API server has answered no request, or taken no credentials, for "
            "15 seconds; 1 otherwise.",
        )
        self.api_server_up.set(1)
        self.clocks_disagree = self._gauge(
            "jobledger_clocks_disagree",
            "1 while what would end a job waits, because clocks are apart.",
        )
        self.clock_ahead_seconds = self._gauge(
            "jobledger_clock_ahead_seconds",
            "How far this machine's clock is ahead of another, by the last comparison that was "
            "answered; events are dated by the other two where they agree and ours is off.",
            ["clock"],
        )
        self.other_ledgers = self._gauge(
            "jobledger_other_ledgers",
            "Runs on other ledgers that would control the same jobs; only one of them acts.",
        )
        self.behind_jobs = self._gauge(
            "jobledger_ledger_behind_jobs",
            "Jobs for which nothing is done, because the ledger is older than the cluster.",
        )

    def _declare_sharing(self) -> None:
        """Declare what tells how replicas share the work."""
        self.jobs_slowed = self._gauge(
            "jobledger_jobs_slowed",
            "Jobs that have used up their budget of events (job_events_per_hour), or of bytes of "
            "edits that are looked through for secrets: what is seen of them waits.",
        )
        self.shards = self._gauge(
            "jobledger_shards_held", "Shards, of 16, whose lease this replica holds."
        )
        self.shards_worked_on = self._gauge(
            "jobledger_shards_worked_on",
            "Shards that it holds, has taken up and is not about to give up.",
        )
        self.replicas = self._gauge(
            "jobledger_replicas",
            "Replicas that share the work, this one included, as it last heard.",
        )


class NotificationMetrics(_Catalogue):
    """The metrics of `jobledger notify run`, which has none of a controller's."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        super().__init__(registry)
        self.notifications_sent = self._counter(
            "jobledger_notifications_sent_total",
            "Notices that their target took, by target.",
            ["target"],
        )
        self.notifications_failed = self._counter(
            "jobledger_notification_failures_total",
            "Tries to send a notice that its target did not take, by target.",
            ["target"],
        )
        self.notifications_waiting = self._gauge(
            "jobledger_notifications_waiting",
            "Notices that wait to be sent, or sent again, by target.",
            ["target"],
        )
        self.notifications_dead = self._gauge(
            "jobledger_notifications_dead",
            "Notices that were given up, by target; see `jobledger notify status`.",
            ["target"],
        )
        self.notification_lag_events = self._gauge(
            "jobledger_notification_lag_events",
            "Events of the log that rules of notifications were not asked about yet.",
        )
        self.notification_lag_seconds = self._gauge(
            "jobledger_notification_lag_seconds",
            "How long the oldest of them has been waiting; 0 if there are none.",
        )
