"""MPI: hosts, slots, and the keys by which the launcher reaches the nodes.

The keys themselves are made by whoever applies the Secret. Source: Trainer v2.3,
pkg/runtime/framework/plugins/mpi.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from jobledger.core.ports.cluster import CONFIGMAPS, SECRETS, Resource
from jobledger.core.trainjob.building.framework import (
    ApplyRule,
    BuildFailed,
    BuiltObject,
    Info,
    Plugin,
)
from jobledger.core.trainjob.building.pod_sets import PodSet
from jobledger.core.trainjob.building.processes import gpus_of
from jobledger.core.trainjob.names import LAUNCHER, NODE, hostfile_name, ssh_secret_name
from jobledger.core.values.documents import Manifest, items, number, text

SSH_VOLUME, HOSTFILE_VOLUME = "mpi-ssh-auth", "mpi-hostfile"
HOSTFILE_DIR, HOSTFILE = "/etc/mpi", "hostfile"
_HOME = "root"
SSH_DIR = f"/{_HOME}/.ssh"
"""Where the keys lie in a Pod if the runtime says nothing: in the home of root, as upstream."""
HOSTFILE_BYTES_MAX = 1 << 20
"""Source: Kubernetes, ConfigMap: its data must not exceed 1 MiB."""

OPEN_MPI = "OpenMPI"

HOSTFILE_VARIABLE = "OMPI_MCA_orte_default_hostfile"
FQDN_VARIABLE = "OMPI_MCA_orte_keep_fqdn_hostnames"
SLOTS_VARIABLE = "OMPI_MCA_orte_set_default_slots"
RSH_VARIABLE = "OMPI_MCA_plm_rsh_args"
RESERVED = (HOSTFILE_VARIABLE, FQDN_VARIABLE, SLOTS_VARIABLE, RSH_VARIABLE)
"""Names that the trainer's environment must leave to this plugin."""

_OWNER_ONLY, _OWNER_WRITES, _OTHERS_READ, _READ_ONLY = 0o400, 0o640, 0o644, 0o444


class Mpi(Plugin):
    """Carries out mlPolicy.mpi."""

    name = "mpi"
    ml_policies: tuple[str, ...] = ("mpi",)
    watched: tuple[Resource, ...] = (CONFIGMAPS,)

    def validate(self, info: Info) -> Iterable[str]:
        """Yield reserved names in the environment, and Pods that are missing."""
        policy = info.policy("mpi")
        if policy is None:
            return
        given = {text(item, "name") for item in items(info.trainer, "env")}
        if found := [name for name in RESERVED if name in given]:
            listed = " ".join(found)
            yield f"must not have reserved envs, invalid envs configured: [{listed}]"
        nodes = number(info.trainer, "numNodes") if info.trainer is not None else None
        if nodes is not None and nodes > 1 and policy.get("runLauncherAsNode") is True:
            for name in (LAUNCHER, NODE):
                if info.by_name(name) is None:
                    yield f"runLauncherAsNode needs a replicatedJob {name!r} in the runtime"

    def enforce_ml_policy(self, info: Info) -> Info:
        """Count the nodes; mount the keys and the hosts."""
        policy = info.policy("mpi")
        if policy is None:
            return info
        info = _counted(info, policy)
        mount: Manifest = {"name": SSH_VOLUME, "mountPath": _ssh_dir(policy)}
        for name in (NODE, LAUNCHER):
            pod_set = info.by_name(name)
            if pod_set is not None:
                mounted = pod_set.with_volumes(_ssh_volume(info.name)).changed(
                    NODE, mounts=(mount,)
                )
                info = info.with_pod_set(mounted)
        launcher = info.by_name(LAUNCHER)
        if launcher is None:
            return info
        if launcher.container(NODE) is None:
            return info.with_pod_set(launcher.with_volumes(_hostfile_volume(info.name)))
        if not _is_open_mpi(policy):
            raise BuildFailed(
                self.name, f"MPI implementation {text(policy, 'mpiImplementation')} does not work"
            )
        volume = _hostfile_volume(info.name)
        hosts: Manifest = {"name": HOSTFILE_VOLUME, "mountPath": HOSTFILE_DIR}
        env = _environment(_slots(info, policy))
        told = launcher.with_volumes(volume).changed(NODE, mounts=(hosts,), env=env)
        return info.with_pod_set(told)

    def build(self, info: Info) -> Sequence[BuiltObject]:
        """Return the Secret without its keys, and the hosts."""
        policy = info.policy("mpi")
        if policy is None:
            return ()
        secret: Manifest = {
            "metadata": {"name": ssh_secret_name(info.name)},
            "type": "kubernetes.io/ssh-auth",
            "immutable": True,
        }
        hosts: Manifest = {
            "metadata": {"name": hostfile_name(info.name)},
            "data": {HOSTFILE: _hostfile(info, policy)},
        }
        return (
            BuiltObject(resource=SECRETS, manifest=secret, rule=ApplyRule.ONCE, keys="ssh"),
            BuiltObject(resource=CONFIGMAPS, manifest=hosts),
        )


def _is_open_mpi(policy: Manifest) -> bool:
    return (text(policy, "mpiImplementation") or OPEN_MPI) == OPEN_MPI


def _ssh_dir(policy: Manifest) -> str:
    return text(policy, "sshAuthMountPath") or SSH_DIR


def _counted(info: Info, policy: Manifest) -> Info:
    """Return the info with as many nodes as the job asks for; else they are the runtime's."""
    pod_set = info.by_name(NODE)
    nodes = number(info.trainer, "numNodes") if info.trainer is not None else None
    if pod_set is None or nodes is None:
        return info
    if policy.get("runLauncherAsNode") is True:
        nodes = max(nodes - 1, 1)
    return info.with_pod_set(replace(pod_set, count=nodes))


def _slots(info: Info, policy: Manifest) -> int:
    """Return how many processes run on a host: as asked, as the runtime says, or one per GPU."""
    asked = number(info.trainer, "numProcPerNode") if info.trainer is not None else None
    if asked is not None:
        return asked
    slots = number(policy, "numProcPerNode") or 1
    gpus = gpus_of(info)
    return gpus if slots == 1 and gpus > 1 else slots


def _hostfile(info: Info, policy: Manifest) -> str:
    if not _is_open_mpi(policy):
        return ""  # only Open MPI's form of it is known
    slots, lines = _slots(info, policy), []
    for pod_set in info.pod_sets:
        works = pod_set.name == NODE
        works = works or (pod_set.name == LAUNCHER and policy.get("runLauncherAsNode") is True)
        if works:
            _refuse_too_many(pod_set, info.name)
            lines += [f"{host} slots={slots}\n" for host in pod_set.endpoints(info.name)]
    return "".join(lines)


def _refuse_too_many(pod_set: PodSet, job: str) -> None:
    """Raise `BuildFailed` where so many hosts would not fit into a ConfigMap."""
    hosts = pod_set.replicas * pod_set.count
    if hosts * (len(job) + len(pod_set.subdomain)) > HOSTFILE_BYTES_MAX:
        raise BuildFailed(
            Mpi.name, f"a hostfile of {hosts} hosts is larger than a ConfigMap may be (1 MiB)"
        )


def _environment(slots: int) -> tuple[Manifest, ...]:
    return (
        {"name": HOSTFILE_VARIABLE, "value": f"{HOSTFILE_DIR}/{HOSTFILE}"},
        {"name": FQDN_VARIABLE, "value": "true"},
        {"name": SLOTS_VARIABLE, "value": str(slots)},
        {"name": RSH_VARIABLE, "value": "-o ConnectionAttempts=10"},
    )


def _ssh_volume(job: str) -> Manifest:
    return {
        "name": SSH_VOLUME,
        "secret": {
            "secretName": ssh_secret_name(job),
            "defaultMode": _OWNER_ONLY,
            "items": [
                {"key": "ssh-privatekey", "path": "id_rsa", "mode": _OWNER_WRITES},
                {"key": "ssh-publickey", "path": "id_rsa.pub", "mode": _OTHERS_READ},
                {"key": "ssh-publickey", "path": "authorized_keys", "mode": _OTHERS_READ},
            ],
        },
    }


def _hostfile_volume(job: str) -> Manifest:
    entry: Manifest = {"key": HOSTFILE, "path": HOSTFILE, "mode": _READ_ONLY}
    return {
        "name": HOSTFILE_VOLUME,
        "configMap": {"name": hostfile_name(job), "items": [entry]},
    }
