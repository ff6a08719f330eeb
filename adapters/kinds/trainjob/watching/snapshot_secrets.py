"""Collects the secrets that the snapshot of a runtime declares."""

from jobledger.adapters.service.objects.runtime_env import parse_runtime_env
from jobledger.core.log.redaction.redact import secrets_in
from jobledger.core.trainjob.names import SNAPSHOT_KEY
from jobledger.core.values.documents import Manifest, text


def secrets_of_snapshot(manifest: Manifest) -> frozenset[str]:
    """Return the secrets of the runtime that a ConfigMap holds; a ConfigMap may hold another."""
    written = text(manifest, "data", SNAPSHOT_KEY)
    if not written:
        return frozenset()
    held, problem = parse_runtime_env(written)
    if problem or held is None:
        return secrets_in({"spec": {"runtimeEnvYAML": written}}, None)
    return secrets_in(held, None)
