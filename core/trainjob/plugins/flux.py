"""Flux: installs the workload manager in every node, and runs the job's command under it.

The key itself is made by whoever applies the Secret. Source: Trainer v2.3,
pkg/runtime/framework/plugins/flux; the scripts are our own.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from jobledger.core.ports.cluster import CONFIGMAPS, SECRETS, Resource
from jobledger.core.trainjob.building.framework import BuildFailed, BuiltObject, Info, Plugin
from jobledger.core.trainjob.building.processes import gpus_of
from jobledger.core.trainjob.names import NODE, TRAINER, curve_secret_name, flux_scripts_name
from jobledger.core.trainjob.plugins.flux_scripts import (
    Broker,
    Run,
    entrypoint,
    hosts_of,
    installer,
)
from jobledger.core.values.documents import Json, Manifest, child, items, number, text

INSTALLER = "flux-installer"
"""Name of the init container that brings Flux."""

IMAGE, DEVICE, QUEUE = "FLUX_VIEW_IMAGE", "FLUX_NETWORK_DEVICE", "FLUX_QUEUE_POLICY"
DEFAULTS: Mapping[str, str] = {
    IMAGE: "ghcr.io/converged-computing/flux-view-ubuntu:tag-jammy",
    DEVICE: "eth0",
    QUEUE: "fcfs",
}
"""Settings, taken from environment variables of these names: the TrainJob's, else the runtime's."""

INSTALL_VOLUME, SOFTWARE_VOLUME = "flux-install", "spack-install"
MEMORY_VOLUME, CURVE_VOLUME = "shared-memory", "flux-curve"
SCRIPTS_DIR, INSTALL_DIR = "/etc/flux-config", "/mnt/flux"
_OWNER_READS, _ALL_RUN = 0o400, 0o755


class Flux(Plugin):
    """Carries out mlPolicy.flux; plainml counts the nodes."""

    name = "flux"
    ml_policies: tuple[str, ...] = ("flux",)
    watched: tuple[Resource, ...] = (CONFIGMAPS,)

    def validate(self, info: Info) -> Iterable[str]:
        """Yield too few processes, a reserved init container, and a missing number of nodes."""
        policy = info.policy("flux")
        if policy is None:
            return
        processes = _processes(info, policy)
        if processes < 1:
            where = f"spec.trainer.numProcPerNode: Invalid value: {processes}"
            yield f"{where}: must be greater than or equal to 1 for Flux TrainJob"
        for pod_set in info.pod_sets:
            if pod_set.name == NODE and pod_set.init_container(INSTALLER) is not None:
                where = f'spec.trainer.initContainers: Invalid value: "{INSTALLER}"'
                yield f"{where}: InitContainer '{INSTALLER}' is reserved"
        if _nodes(info) is None:
            yield "spec.trainer.numNodes: Required value: a Flux TrainJob says how many it has"

    def enforce_ml_policy(self, info: Info) -> Info:
        """Install Flux in the nodes; put its script in the place of the job's command."""
        if info.policy("flux") is None:
            return info
        installs = _installer(info)
        for pod_set in info.pod_sets:
            if pod_set.name == NODE:
                with_flux = pod_set.with_volumes(*_volumes(info.name)).with_init_container(installs)
                info = info.with_pod_set(with_flux.changed(NODE, mounts=_mounts(info.name)))
        trainer: dict[str, Json] = {**child(info.trainer)}
        trainer["command"] = ["/bin/bash", f"{SCRIPTS_DIR}/entrypoint.sh", _command(info)]
        trainer.pop("args", None)
        spec: Manifest = {**child(info.job, "spec"), "trainer": trainer}
        return replace(info, job={**info.job, "spec": spec})

    def build(self, info: Info) -> Sequence[BuiltObject]:
        """Return the scripts, and the Secret without its key."""
        policy = info.policy("flux")
        if policy is None:
            return ()
        nodes, processes = _nodes(info), _processes(info, policy)
        if nodes is None:
            raise BuildFailed(self.name, "spec.trainer.numNodes is gone")  # `validate` has seen it
        settings = _settings(info)
        broker = Broker(
            job=info.name,
            namespace=text(info.job, "metadata", "namespace"),
            hosts=hosts_of(info.name, nodes),
            device=settings[DEVICE],
            queue=settings[QUEUE],
        )
        run = Run(job=info.name, nodes=nodes, processes=processes, gpus=gpus_of(info))
        scripts: Manifest = {
            "metadata": {"name": flux_scripts_name(info.name)},
            "data": {"entrypoint.sh": entrypoint(run), "init.sh": installer(broker)},
        }
        secret: Manifest = {"metadata": {"name": curve_secret_name(info.name)}}
        return (
            BuiltObject(resource=CONFIGMAPS, manifest=scripts),
            BuiltObject(resource=SECRETS, manifest=secret, keys="curve"),
        )


def _nodes(info: Info) -> int | None:
    return number(info.trainer, "numNodes") if info.trainer is not None else None


def _processes(info: Info, policy: Manifest) -> int:
    """Return how many processes run on a node: as the TrainJob says, else the runtime, else 1."""
    for place in (child(info.trainer), policy):
        asked = number(place, "numProcPerNode")
        if asked is not None:
            return asked
    return 1


def _trainer_container(info: Info) -> Manifest:
    """Return the container that trains as the runtime has it; empty if there is none."""
    pod_set = info.by_ancestor(TRAINER)
    return child(pod_set.container(NODE)) if pod_set is not None else {}


def _settings(info: Info) -> dict[str, str]:
    """Return the settings; a value that a TrainJob takes from elsewhere counts as empty."""
    settings = dict(DEFAULTS)
    for item in items(_trainer_container(info), "env"):
        if text(item, "name") in settings and text(item, "value"):
            settings[text(item, "name")] = text(item, "value")
    for item in items(info.trainer, "env"):
        if text(item, "name") in settings:
            settings[text(item, "name")] = text(item, "value")
    return settings


def _command(info: Info) -> str:
    """Return what Flux is to run; arguments are the TrainJob's alone, the runtime's follow."""
    words = items(_trainer_container(info), "command")
    trainer = child(info.trainer)
    if isinstance(trainer.get("command"), list | tuple):
        words = items(trainer, "command")
    return " ".join(str(word) for word in (*words, *items(trainer, "args"))).strip()


def _installer(info: Info) -> Manifest:
    image = _settings(info)[IMAGE]
    installs: dict[str, Json] = {
        "name": INSTALLER,
        "command": ["/bin/bash", f"{SCRIPTS_DIR}/init.sh"],
        "volumeMounts": [_mount(INSTALL_VOLUME, INSTALL_DIR), _scripts_mount(info.name)],
    }
    return {**installs, "image": image} if image else installs


def _mount(volume: str, path: str, *, read_only: bool = False) -> Manifest:
    mount: Manifest = {"name": volume, "mountPath": path}
    return {**mount, "readOnly": True} if read_only else mount


def _scripts_mount(job: str) -> Manifest:
    return _mount(flux_scripts_name(job), SCRIPTS_DIR, read_only=True)


def _mounts(job: str) -> tuple[Manifest, ...]:
    return (
        _mount(INSTALL_VOLUME, INSTALL_DIR),
        _mount(SOFTWARE_VOLUME, "/opt/software"),
        _scripts_mount(job),
        _mount(CURVE_VOLUME, "/curve", read_only=True),
        _mount(MEMORY_VOLUME, "/dev/shm", read_only=True),  # noqa: S108 the Pod's, as upstream
    )


def _volumes(job: str) -> tuple[Manifest, ...]:
    scripts, key = flux_scripts_name(job), curve_secret_name(job)
    return (
        {"name": SOFTWARE_VOLUME, "emptyDir": {}},
        {"name": INSTALL_VOLUME, "emptyDir": {}},
        {"name": scripts, "configMap": {"name": scripts, "defaultMode": _ALL_RUN}},
        {"name": MEMORY_VOLUME, "emptyDir": {"medium": "Memory"}},
        {"name": CURVE_VOLUME, "secret": {"secretName": key, "defaultMode": _OWNER_READS}},
    )
