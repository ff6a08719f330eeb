"""The catalogue of metrics, each declared once.

Names as Prometheus has them, units in the names, help texts that say what is counted.
"""

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

_LATENESS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 3600)
_SHORT = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """The metrics of one service."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self.registry = registry
        self._declare_log(registry)
        self._declare_reports(registry)
        self._declare_doing(registry)
        self._declare_caution(registry)
        self._declare_sharing(registry)

    def _declare_log(self, registry: CollectorRegistry) -> None:
        """Declare what is counted on the way into the log."""
        self.events = Counter(
            "jobledger_events_appended_total",
            "Events appended to the log, by type.",
            ["type"],
            registry=registry,
        )
        self.observations = Counter(
            "jobledger_observations_total",
            "Observations taken in, by kind and whether they brought news.",
            ["kind", "news"],
            registry=registry,
        )
        self.append_seconds = Histogram(
            "jobledger_append_seconds",
            "Time of one append call, from the first byte to the commit.",
            buckets=_SHORT,
            registry=registry,
        )
        self.append_events = Histogram(
            "jobledger_append_batch_events",
            "Events per append call.",
            buckets=(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000),
            registry=registry,
        )
        self.inbox = Gauge(
            "jobledger_inbox_observations",
            "Observations that wait for their turn.",
            registry=registry,
        )
        self.jobs = Gauge(
            "jobledger_jobs_held",
            "Jobs whose state is held in memory: those in which something is left to do.",
            registry=registry,
        )
        self.poisoned = Counter(
            "jobledger_poisoned_observations_total",
            "Observations that the rules could not handle; each is a bug, and is in the log lines.",
            registry=registry,
        )
        self.conflicts = Counter(
            "jobledger_append_refusals_total",
            "Streams that an append refused, by outcome.",
            ["outcome"],
            registry=registry,
        )
        self.ledger_up = Gauge(
            "jobledger_ledger_up",
            "1 while the last append or read of the log succeeded, 0 while it is being retried.",
            registry=registry,
        )

        self.seals_sound = Gauge(
            "jobledger_seals_sound",
            "0 if sealing last found a seal or the log not as it was kept, 1 if it found it sound, "
            "or has not looked yet.",
            registry=registry,
        )
        self.seals_sound.set(1)

    def tell_report_lag(self, events: int, seconds: float) -> None:
        """Note how far the reporting tables are behind the log."""
        self.report_lag_events.set(events)
        self.report_lag_seconds.set(seconds)

    def _declare_reports(self, registry: CollectorRegistry) -> None:
        """Declare how far the reporting tables are."""
        self.report_lag_events = Gauge(
            "jobledger_report_lag_events",
            "Events of the log that the reporting views do not reflect yet.",
            registry=registry,
        )
        self.report_lag_seconds = Gauge(
            "jobledger_report_lag_seconds",
            "How long the oldest of them has been waiting; 0 if there are none.",
            registry=registry,
        )

    def _declare_doing(self, registry: CollectorRegistry) -> None:
        """Declare what is counted on the way out: effects, writes, polls, decisions."""
        self.effects = Counter(
            "jobledger_effects_total",
            "Tries to act outside, by kind and outcome.",
            ["kind", "outcome"],
            registry=registry,
        )
        self.effect_seconds = Histogram(
            "jobledger_effect_seconds",
            "Time of one try to act outside, by kind.",
            ["kind"],
            buckets=_SHORT,
            registry=registry,
        )
        self.lateness_seconds = Histogram(
            "jobledger_decision_lateness_seconds",
            "From the instant a decision was due until its firing was committed, by kind.",
            ["kind"],
            buckets=_LATENESS,
            registry=registry,
        )
        self.polls = Counter(
            "jobledger_ray_polls_total",
            "Questions to Ray heads, by what came back.",
            ["answer"],
            registry=registry,
        )
        self.kept_clusters = Gauge(
            "jobledger_kept_rayclusters",
            "RayClusters of ended jobs that stay: no rule of a deletionStrategy covers them.",
            registry=registry,
        )
        self.hints = Counter(
            "jobledger_ray_hints_total",
            "Hints that a Ray job may have ended, before it was asked about.",
            registry=registry,
        )
        self.status_writes = Counter(
            "jobledger_status_writes_total",
            "Writes of .status, by outcome.",
            ["outcome"],
            registry=registry,
        )
        self.captures = Counter(
            "jobledger_evidence_captures_total",
            "Captures of evidence in the log, by what for: `pod` when one was seen to fail "
            "or to go, `failure`, `waiting`, `deleted`, or the effect before which it was.",
            ["occasion"],
            registry=registry,
        )
        self.kubernetes_events = Counter(
            "jobledger_kubernetes_events_total",
            "Kubernetes Events sent or dropped.",
            ["outcome"],
            registry=registry,
        )

    def _declare_caution(self, registry: CollectorRegistry) -> None:
        """Declare what tells why nothing is done for a job, or not yet, or not shown."""
        self.plugin_conditions_refused = Counter(
            "jobledger_plugin_conditions_refused_total",
            "Conditions of TrainJob plugins that were not taken, as written down, by plugin.",
            ["plugin"],
            registry=registry,
        )
        self.control_refused = Gauge(
            "jobledger_control_refused",
            "1 where jobs are only recorded, because another controller was met at work.",
            ["kind", "namespace"],
            registry=registry,
        )
        self.api_server_up = Gauge(
            "jobledger_api_server_up",
            "0 while the API server has answered no request, or taken no credentials, for "
            "15 seconds; 1 otherwise.",
            registry=registry,
        )
        self.api_server_up.set(1)
        self.clocks_disagree = Gauge(
            "jobledger_clocks_disagree",
            "1 while what would end a job waits, because clocks are apart.",
            registry=registry,
        )
        self.clock_ahead_seconds = Gauge(
            "jobledger_clock_ahead_seconds",
            "How far this machine's clock is ahead of another, by the last comparison that was "
            "answered; events are dated by the other two where they agree and ours is off.",
            ["clock"],
            registry=registry,
        )
        self.other_ledgers = Gauge(
            "jobledger_other_ledgers",
            "Runs on other ledgers that would control the same jobs; only one of them acts.",
            registry=registry,
        )
        self.behind_jobs = Gauge(
            "jobledger_ledger_behind_jobs",
            "Jobs for which nothing is done, because the ledger is older than the cluster.",
            registry=registry,
        )

    def _declare_sharing(self, registry: CollectorRegistry) -> None:
        """Declare what tells how replicas share the work."""
        self.jobs_slowed = Gauge(
            "jobledger_jobs_slowed",
            "Jobs that have used up their budget of events (job_events_per_hour), or of bytes of "
            "edits that are looked through for secrets: what is seen of them waits.",
            registry=registry,
        )
        self.shards = Gauge(
            "jobledger_shards_held",
            "Shards, of 16, whose lease this replica holds.",
            registry=registry,
        )
        self.shards_worked_on = Gauge(
            "jobledger_shards_worked_on",
            "Shards that it holds, has taken up and is not about to give up.",
            registry=registry,
        )
        self.replicas = Gauge(
            "jobledger_replicas",
            "Replicas that share the work, this one included, as it last heard.",
            registry=registry,
        )
