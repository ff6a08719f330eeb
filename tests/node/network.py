"""The bridge of the Pods, and the packet filter as it was before."""

import shlex
import subprocess
from pathlib import Path

from tests.node.layout import ADDRESS, BRIDGE

FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
TABLES = ("filter", "nat", "mangle")
OURS = ("KUBE-", "CNI-")
"""How the chains begin that kubelet, kube-proxy and the network plugins make."""


class CommandFailed(RuntimeError):
    """A command of the system refused; the message has what it said."""


def run(*words: str) -> str:
    """Run a command and return what it printed.

    Raises:
        CommandFailed: it ended with an error.
    """
    done = subprocess.run(
        words, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode:
        raise CommandFailed(f"{' '.join(words)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def foreign_node() -> str:
    """Return why this machine's network is another node's, or an empty text."""
    if any(chains_of(run("iptables-save", "-t", table)) for table in TABLES):
        return (
            "The packet filter has chains of kubelet or kube-proxy already: this machine is a "
            "Kubernetes node, and a second one would spoil it."
        )
    return ""


def door(port: int, inner: int) -> list[str]:
    """Return the command that lets Pods reach what listens on the loopback of the machine.

    Args:
        port: on the bridge's address.
        inner: on the loopback.
    """
    listening = f"TCP-LISTEN:{port},bind={ADDRESS},fork,reuseaddr"
    return ["socat", listening, f"TCP:127.0.0.1:{inner}"]


def make_bridge() -> None:
    """Make the bridge with its address: DNS and the kubelet listen there before any Pod is."""
    if not Path(f"/sys/class/net/{BRIDGE}").exists():
        run("ip", "link", "add", BRIDGE, "type", "bridge")
        run("ip", "address", "add", f"{ADDRESS}/24", "dev", BRIDGE)
    run("ip", "link", "set", BRIDGE, "up")
    FORWARDING.write_text("1", encoding="ascii")


def clear() -> None:
    """Remove the bridge, and of the packet filter what a node has put there, and no more."""
    if Path(f"/sys/class/net/{BRIDGE}").exists():
        run("ip", "link", "delete", BRIDGE)
    for table in TABLES:
        for words in removals(run("iptables-save", "-t", table)):
            run("iptables", "--wait", "-t", table, *words)


def removals(saved: str) -> list[list[str]]:
    """Return what removes the chains of a node: rules that lead there, then rules, then chains.

    Args:
        saved: a table as iptables-save prints it.
    """
    chains = chains_of(saved)
    leading = [
        ["-D", *shlex.split(line)[1:]]  # comments are in quotes
        for line in saved.splitlines()
        if line.startswith("-A ") and not _chain(line).startswith(OURS) and _leads(line)
    ]
    emptied = [["-F", chain] for chain in chains]
    return [*leading, *emptied, *(["-X", chain] for chain in chains)]


def chains_of(saved: str) -> list[str]:
    """Return the chains of a node in a table."""
    lines = (line for line in saved.splitlines() if line.startswith(":"))
    return [name for name in (line[1:].split()[0] for line in lines) if name.startswith(OURS)]


def _chain(rule: str) -> str:
    return rule.split()[1]


def _leads(rule: str) -> bool:
    words = rule.split()
    return "-j" in words and words[words.index("-j") + 1].startswith(OURS)
