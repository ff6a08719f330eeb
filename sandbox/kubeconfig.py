"""A kubeconfig for the sandbox, for kubectl and every other client."""

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
