"""Where Pods report their progress: address, token and authority, for all containers that train.

Source: Trainer v2.3, pkg/runtime/framework/plugins/trainjobstatus.
"""

from collections.abc import Sequence

from jobledger.core.ports.cluster import CONFIGMAPS, Resource
from jobledger.core.trainjob.building.framework import BuiltObject, Info, Plugin
from jobledger.core.trainjob.names import TRAINER
from jobledger.core.trainjob.reports import AUDIENCE
from jobledger.core.values.documents import Manifest, items, text

MOUNTED_AT = "/var/run/secrets/kubeflow/trainer"
VOLUME = "kubeflow-trainer-token"
AUTHORITY, TOKEN = "ca.crt", "token"
TOKEN_SECONDS = 3600


class TrainerStatus(Plugin):
    """Tells Pods where to report; installed only where a server is."""

    name = "trainjobstatus"
    watched: tuple[Resource, ...] = (CONFIGMAPS,)

    def __init__(self, url: str) -> None:
        """Take the server's address, without a path."""
        self._url = url.rstrip("/")

    def enforce_ml_policy(self, info: Info) -> Info:
        """Put the environment, the mount and the volume where the training is."""
        pod_set = info.by_ancestor(TRAINER)
        if pod_set is None:
            return info
        audience = AUDIENCE.format(
            namespace=text(info.job, "metadata", "namespace"), name=info.name
        )
        env: tuple[Manifest, ...] = (
            {"name": "KUBEFLOW_TRAINER_SERVER_URL", "value": f"{self._url}/apis/{audience}"},
            {"name": "KUBEFLOW_TRAINER_SERVER_CA_CERT", "value": f"{MOUNTED_AT}/{AUTHORITY}"},
            {"name": "KUBEFLOW_TRAINER_SERVER_TOKEN", "value": f"{MOUNTED_AT}/{TOKEN}"},
        )
        mount: Manifest = {"name": VOLUME, "mountPath": MOUNTED_AT, "readOnly": True}
        changed = pod_set.with_volumes(_volume(info.name, audience))
        for container in items(pod_set.pod, "containers"):
            changed = changed.changed(text(container, "name"), env=env, mounts=(mount,))
        return info.with_pod_set(changed)

    def build(self, info: Info) -> Sequence[BuiltObject]:
        """Return the ConfigMap with the authority, which is filled in when it is applied."""
        manifest: Manifest = {"metadata": {"name": _configmap(info.name)}}
        return (BuiltObject(resource=CONFIGMAPS, manifest=manifest, keys="authority"),)


def _configmap(job: str) -> str:
    return f"{job}-tls-config"


def _volume(job: str, audience: str) -> Manifest:
    token: Manifest = {"audience": audience, "expirationSeconds": TOKEN_SECONDS, "path": TOKEN}
    authority: Manifest = {
        "name": _configmap(job),
        "items": [{"key": AUTHORITY, "path": AUTHORITY}],
    }
    sources: list[Manifest] = [{"serviceAccountToken": token}, {"configMap": authority}]
    return {"name": VOLUME, "projected": {"sources": sources}}
