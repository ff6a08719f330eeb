"""Says which ledger is read, and whether anybody works on it: on standard error, for people.

The cluster is asked for other ledgers only where it is named, by `--kubeconfig` or by the Pod that
this runs in: what reads the ledger needs no cluster, and does not wait for one.
"""

import os
from importlib import import_module

from rich.text import Text

from jobledger.adapters.cli.files.known_ledgers import is_private, remember, told_of_others
from jobledger.adapters.cli.output import errors, marked
from jobledger.adapters.ledger_wiring import Ledger
from jobledger.adapters.postgres.connection.errors import describe
from jobledger.adapters.settings import Settings
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.errors import ClusterError


def tell_ledger(opened: Ledger, settings: Settings, *, is_new: bool) -> None:
    """Say which ledger it is, whether a service works on it, and which others there are."""
    name = describe(opened.engine.url)
    if is_private(settings):
        name = f"the private one in {settings.data_dir}" + (", made just now" if is_new else "")
        remember(settings)
    is_worked_on = any(one.owner and one.is_there for one in opened.replicas.holders())
    rest = "" if is_worked_on else "; no service works on it now"
    errors.print(Text(f"ledger: {name}{rest}", style="dim"), soft_wrap=True)
    if told := told_of_others(settings):
        errors.print(Text(told, style="yellow" if is_new else "dim"), soft_wrap=True)


def warn_of_others(opened: Ledger, settings: Settings) -> None:
    """Say if another ledger controls the jobs, as far as the cluster is named."""
    if not settings.kubeconfig and "KUBERNETES_SERVICE_HOST" not in os.environ:
        return
    # By name: without a cluster its client is not loaded, which takes as long as the command.
    wiring = import_module("jobledger.adapters.claim_wiring")
    try:
        told = wiring.who_acts_instead(opened, settings, SystemClock().now())
    except ClusterError as error:
        told = f"it is not known whether another ledger controls these jobs: {error}"
    if told:
        errors.print(marked("warning:", "yellow", f" {told}"), soft_wrap=True)
