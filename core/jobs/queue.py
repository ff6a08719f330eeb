"""The label by which Kueue admits a job of any kind. Source: kueue's controller/constants."""

from typing import Final

QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
