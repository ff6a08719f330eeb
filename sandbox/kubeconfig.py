"""What clients of the sandbox need: a kubeconfig, and an environment that a shell can source."""

import shlex
from pathlib import Path

import yaml


def write_kubeconfig(path: Path, url: str) -> None:
    """Write a kubeconfig whose only context is the sandbox at `url`, namespace default.

    The token in it means nothing: the sandbox accepts any.
    """
    name = "jobledger-sandbox"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": url}}],
        "users": [{"name": name, "user": {"token": "sandbox"}}],
        "contexts": [
            {"name": name, "context": {"cluster": name, "user": name, "namespace": "default"}}
        ],
        "current-context": name,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    path.chmod(0o600)


def write_environment(kubeconfig: Path, proxy_url: str, **more: str) -> str:
    """Write the environment of clients beside a kubeconfig; return the line that takes it on.

    Names of Services lead through the proxy. Its variables stand there in both cases, as curl reads
    the lower one and much else the upper one. `more` are further variables.
    """
    variables = {
        "KUBECONFIG": str(kubeconfig),
        "HTTP_PROXY": proxy_url,
        "http_proxy": proxy_url,
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
        **more,
    }
    file = kubeconfig.parent / "environment"
    file.touch(0o600)
    lines = [f"{name}={shlex.quote(value)}\n" for name, value in variables.items()]
    file.write_text("".join(lines), encoding="utf-8")
    return f"set -a; . {shlex.quote(str(file))}; set +a"
