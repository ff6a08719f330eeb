"""The labels that name the team, user or queue of a job."""

USER_LABELS = (
    "jobledger.dev/user",
    "app.kubernetes.io/created-by",
    "kueue.x-k8s.io/user",
    "owner",
    "user",
)
"""Labels, or else annotations, that say whose a job is; the first that is there counts."""
