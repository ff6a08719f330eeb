"""Renews the certificate of a server while it serves."""

from collections.abc import Callable
from threading import Event

from jobledger.adapters.admission.kept_certificate import ForeignSecret
from jobledger.adapters.admission.tls import NoCertificate
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.errors import ClusterError

LOOK_SECONDS = 60.0
"""Pause between two looks at the certificate and at who trusts it."""

log = get_logger(__name__)


def keep_fresh(refresh: Callable[[], None], stopped: Event) -> None:
    """Look after the certificate until told to stop; a look that fails is made again."""
    while not stopped.wait(LOOK_SECONDS):
        try:
            refresh()
        except (ClusterError, ForeignSecret, NoCertificate) as error:
            log.warning("certificate not looked at", why=str(error))
