"""What each program of a node is told, as the files that it reads."""

import json
from typing import Any

import yaml

from tests.node.layout import ADDRESS, BRIDGE, DOMAIN, NAME, PODS, Layout, Ports

PAUSE_IMAGE = "docker.io/local/pause:1"

CONTAINERD = """version = 2
root = "{store}"
state = "{running}/containerd"
[grpc]
  address = "{socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  # without CAP_SYS_RESOURCE nothing may lower its score, and runc dies of trying
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{running}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
"""

COREFILE = """.:53 {{
    bind {address}
    errors
    kubernetes {domain} in-addr.arpa {{
      kubeconfig {kubeconfig}
      pods insecure
    }}
    cache 2
}}
"""


def write_all(places: Layout, numbers: Ports) -> None:
    """Write every file that a program of the node reads."""
    folder = places.running
    (folder / "cni").mkdir(exist_ok=True)
    texts = {
        "containerd.toml": CONTAINERD.format(
            store=places.store, running=folder, socket=places.socket, pause=PAUSE_IMAGE
        ),
        "cni/10-bridge.conflist": json.dumps(_network(places)),
        "kubelet.yaml": yaml.safe_dump(_kubelet(places, numbers)),
        "proxy.yaml": yaml.safe_dump(_proxy(places, numbers)),
        "Corefile": COREFILE.format(address=ADDRESS, domain=DOMAIN, kubeconfig=places.kubeconfig),
        "resolv.pods": f"nameserver {ADDRESS}\n",
        places.of_host().name: f"search svc.{DOMAIN} {DOMAIN}\nnameserver {ADDRESS}\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def _network(places: Layout) -> dict[str, Any]:
    addresses = {
        "type": "host-local",
        "dataDir": str(places.running / "addresses"),
        "ranges": [[{"subnet": PODS}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {
        "type": "bridge",
        "bridge": BRIDGE,
        "isGateway": True,
        "hairpinMode": True,
        "ipam": addresses,
    }
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge, ports]}


def _kubelet(places: Layout, numbers: Ports) -> dict[str, Any]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        # whoever reaches the bridge may ask: for tests only
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "address": ADDRESS,
        "port": numbers.kubelet,
        "healthzPort": numbers.kubelet_health,
        "readOnlyPort": 0,
        "cgroupDriver": "cgroupfs",
        "failCgroupV1": False,
        "failSwapOn": False,
        "enforceNodeAllocatable": [],
        "containerRuntimeEndpoint": f"unix://{places.socket}",
        "podLogsDir": str(places.running / "logs"),
        "clusterDNS": [ADDRESS],
        "clusterDomain": DOMAIN,
        "podCIDR": PODS,
        "resolvConf": str(places.running / "resolv.pods"),
        "evictionHard": {
            "memory.available": "100Mi",
            "nodefs.available": "1%",
            "imagefs.available": "1%",
        },
        "imageGCHighThresholdPercent": 100,
        "maxPods": 50,
    }


def _proxy(places: Layout, numbers: Ports) -> dict[str, Any]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": str(places.kubeconfig)},
        "clusterCIDR": PODS,
        "mode": "iptables",
        "hostnameOverride": NAME,
        "healthzBindAddress": f"127.0.0.1:{numbers.proxy_health}",
        "metricsBindAddress": f"127.0.0.1:{numbers.proxy_metrics}",
        # the machine's own settings are not ours to change: neither table sizes nor loopback
        "conntrack": {"maxPerCore": 0, "min": 0},
        "iptables": {"localhostNodePorts": False},
    }
