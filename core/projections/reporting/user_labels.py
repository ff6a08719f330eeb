"""Where a job says whose it is."""

USER_LABELS = (
    "jobledger.dev/user",
    "app.kubernetes.io/created-by",
    "kueue.x-k8s.io/user",
    "owner",
    "user",
)
"""Labels, or else annotations, that say whose a job is; the first that is there counts."""
