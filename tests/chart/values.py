"""Values of the chart that the tests render: what people switch on, alone and together."""

from typing import Any

Values = dict[str, Any]

IMAGE: Values = {"image": {"repository": "registry.example/jobledger"}}

MATRIX: dict[str, Values] = {
    "nothing": {},
    "one-replica": {"replicas": 1},
    "ipv6": {
        "host": "::",
        "webhooks": {"enabled": True},
        "trainerStatus": {"enabled": True},
    },
    "by-digest": {"image": {"digest": f"sha256:{'0' * 64}", "pullPolicy": "Always"}},
    "rayjobs-alone": {"settings": {"job_kinds": ["RayJob"]}},
    "all-kinds": {
        "settings": {
            "job_kinds": ["RayJob", "TrainJob", "Job"],
            "batch_scheduler": "volcano",
            "api_token_review": True,
        }
    },
    "two-namespaces": {
        "settings": {"namespaces": ["default", "kube-public"]},
        "rbac": {"headTokens": {"namespaces": ["default"]}, "mpiKeys": {"everywhere": True}},
    },
    "recorder": {"settings": {"control": "nothing", "api_token_review": True}},
    "no-evidence": {"settings": {"evidence_seconds": 0}},
    "named-otherwise": {"nameOverride": "ledger", "labels": {"team": "ml"}},
    "webhooks": {"webhooks": {"enabled": True, "strict": True}},
    "cert-manager": {"webhooks": {"enabled": True, "certManager": {"issuer": "ours"}}},
    "trainer-status": {"trainerStatus": {"enabled": True}},
    "notifications": {
        "notifications": {
            "enabled": True,
            "secret": "addresses",
            "targets": {
                "chat": {"form": "slack", "url": {"file": "/etc/jobledger/notify/chat"}},
                "alerts": {"form": "alertmanager", "url": {"env": "ALERTS"}, "per_minute": 600},
            },
            "rules": [
                {"name": "failures", "events": ["job-failed"], "targets": ["chat", "alerts"]},
                {
                    "name": "lost nodes",
                    "events": ["attempt-failed"],
                    "failures": ["preemption"],
                    "namespaces": ["team-*"],
                    "labels": {"tier": "1"},
                    "targets": ["chat"],
                },
            ],
        },
        "metrics": {"serviceMonitor": {"enabled": True}},
    },
    "upkeep": {
        "seals": {"enabled": True, "claim": "seals", "keySecret": "seal-key"},
        "archive": {"enabled": True, "claim": "archive"},
        "parquet": {"enabled": True, "claim": "lake", "image": "registry/jobledger:parquet"},
        "migration": {"hook": False, "secret": "jobledger-owner"},
    },
    "metrics": {
        "metrics": {
            "serviceMonitor": {"enabled": True, "labels": {"release": "prom"}},
            "rules": {"enabled": True, "labels": {"release": "prom"}},
            "dashboards": {"enabled": True},
        }
    },
    "closed-network": {"networkPolicy": {"egress": {"restricted": True}}},
    "open-network": {
        "networkPolicy": {"enabled": False},
        "podDisruptionBudget": {"enabled": False},
    },
    "placed": {
        "imagePullSecrets": [{"name": "registry"}],
        "nodeSelector": {"pool": "system"},
        "tolerations": [{"key": "system", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "priorityClassName": "system-cluster-critical",
        "podAnnotations": {"note": "yes"},
        "podLabels": {"team": "ml"},
        "api": {"tokenSecret": "readers"},
        "extraEnv": [{"name": "HTTP_PROXY", "value": "http://proxy:3128"}],
        "extraVolumes": [{"name": "ca", "configMap": {"name": "ca"}}],
        "extraVolumeMounts": [{"name": "ca", "mountPath": "/etc/ca"}],
    },
}
"""Name of a row -> what is said beside the image."""

WRONG: dict[str, tuple[Values, str]] = {
    "a setting that is none": (
        {"settings": {"leas_seconds": 3}},
        "at '/settings': additional properties 'leas_seconds' not allowed",
    ),
    "a secret in the settings": (
        {"settings": {"database_url": "postgresql://me:secret@db/l"}},
        "at '/settings': additional properties 'database_url' not allowed",
    ),
    "a word for a number": (
        {"settings": {"lease_seconds": "soon"}},
        "at '/settings/lease_seconds': got string, want number",
    ),
    "a kind that is none": (
        {"settings": {"job_kinds": ["RayJobs"]}},
        "at '/settings/job_kinds/0': value must be one of 'RayJob', 'TrainJob', 'Job'",
    ),
    "a value that is none": (
        {"replicaCount": 3},
        "additional properties 'replicaCount' not allowed",
    ),
    "no replica": ({"replicas": 0}, "at '/replicas': minimum: got 0, want 1"),
    "a digest cut short": ({"image": {"digest": "sha256:00"}}, "at '/image/digest'"),
    "a schedule of three fields": (
        {"seals": {"enabled": True, "claim": "seals", "schedule": "7 * *"}},
        "at '/seals/schedule'",
    ),
    "no image": (
        {"image": {"repository": ""}},
        "image.repository is empty: say where your image is",
    ),
    "an address in the values": (
        {"notifications": {"targets": {"chat": {"form": "slack", "url": "https://a.example"}}}},
        "at '/notifications/targets/chat/url': got string, want object",
    ),
    "nobody to be told": (
        {"notifications": {"enabled": True}},
        "notifications.enabled without notifications.targets and notifications.rules",
    ),
    "seals without a volume": (
        {"seals": {"enabled": True}},
        "seals.enabled without seals.claim: name the PersistentVolumeClaim",
    ),
    "a setting beside the settings": (
        {"extraEnv": [{"name": "JOBLEDGER_CLUSTER", "value": "other"}]},
        "extraEnv sets JOBLEDGER_CLUSTER: settings, database",
    ),
    "control of no namespace": (
        {"settings": {"control": "namespaces"}},
        "settings.control is namespaces, and settings.control_namespaces names none",
    ),
    "namespaces of control that is of all": (
        {"settings": {"control_namespaces": ["team-a"]}},
        "settings.control_namespaces names some, and settings.control is not namespaces",
    ),
    "an account of nobody": (
        {"serviceAccount": {"create": False}},
        "say in serviceAccount.name which ServiceAccount there is",
    ),
    "two addresses of progress": (
        {"trainerStatus": {"enabled": True}, "settings": {"trainer_status_url": "https://a"}},
        "trainerStatus.enabled sets trainer_status_url",
    ),
}
"""What is wrong -> the values, and a part of the sentence that says so."""


def together(one: Values, other: Values) -> Values:
    """Return both, the second before the first."""
    both = dict(one)
    for key, value in other.items():
        below = both.get(key)
        both[key] = together(below, value) if isinstance(below, dict) else value
    return both
