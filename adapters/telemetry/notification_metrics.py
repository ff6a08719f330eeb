"""The metrics of `jobledger notify run`, which has none of a controller's."""

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge


class NotificationMetrics:
    """The metrics of one process that tells others of events."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self.registry = registry
        self.notifications_sent = Counter(
            "jobledger_notifications_sent_total",
            "Notices that their target took, by target.",
            ["target"],
            registry=registry,
        )
        self.notifications_failed = Counter(
            "jobledger_notification_failures_total",
            "Tries to send a notice that its target did not take, by target.",
            ["target"],
            registry=registry,
        )
        self.notifications_waiting = Gauge(
            "jobledger_notifications_waiting",
            "Notices that wait to be sent, or sent again, by target.",
            ["target"],
            registry=registry,
        )
        self.notifications_dead = Gauge(
            "jobledger_notifications_dead",
            "Notices that were given up, by target; see `jobledger notify status`.",
            ["target"],
            registry=registry,
        )
        self.notification_lag_events = Gauge(
            "jobledger_notification_lag_events",
            "Events of the log that rules of notifications were not asked about yet.",
            registry=registry,
        )
        self.notification_lag_seconds = Gauge(
            "jobledger_notification_lag_seconds",
            "How long the oldest of them has been waiting; 0 if there are none.",
            registry=registry,
        )
