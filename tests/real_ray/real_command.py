"""What stands in the place of the sandbox's small `ray`: the program of the `ray` package.

Run as `python real_command.py RAY API ROOT ARGUMENTS`: RAY is the real program, API the Kubernetes
API that knows where a head is, ROOT a directory with a short name for the files of heads.

Two things are put right on the way. A head is started on the Pod's own address and on free ports,
because all Pods share this machine. And `ray job logs` follows over a WebSocket that takes no
proxy, so the name of a head's Service is replaced by its address.
"""

import json
import os
import shlex
import shutil
import signal
import sys
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

PROXIES = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY")
HEAD_OPTIONS = (
    "--disable-usage-stats",
    "--port=0",
    "--num-cpus=2",
    "--object-store-memory=100000000",
    "--dashboard-agent-listen-port=0",
)
SERVICE_SUFFIX = "-head-svc"


@contextmanager
def in_place_of_ours(sandbox: Path, api: str, ray_bin: Path) -> Iterator[None]:
    """Have the Pods of a sandbox find the real `ray` and its `python`, as long as this lasts."""
    short = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))
    ours = [sys.executable, __file__, str(ray_bin / "ray"), api, str(short)]
    for name, words in (("ray", ours), ("python", [str(ray_bin / "python")])):
        script = sandbox / "pods" / "bin" / name
        script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
    try:
        yield
    finally:
        shutil.rmtree(short, ignore_errors=True)


def words_for(arguments: Sequence[str], api: str, root: str) -> list[str]:
    """Return the words that the real program is called with."""
    if arguments[:1] == ["start"]:
        return _start(root)
    return [_with_address(word, api) for word in arguments]


def _start(root: str) -> list[str]:
    host = f"--dashboard-host={os.environ['POD_IP']}"
    # Names of Unix sockets are short, so the files cannot be in the Pod's own directory.
    directory = f"--temp-dir={root}/{os.getpid()}"
    return ["start", "--head", "--block", host, directory, *HEAD_OPTIONS]


def _with_address(word: str, api: str) -> str:
    parts = urllib.parse.urlsplit(word)
    service, _, rest = (parts.hostname or "").partition(".")
    if parts.scheme != "http" or not service.endswith(SERVICE_SUFFIX):
        return word
    namespace = rest.partition(".")[0]
    return f"http://{_head_of(api, namespace, service.removesuffix(SERVICE_SUFFIX))}:{parts.port}"


def _head_of(api: str, namespace: str, cluster: str) -> str:
    selector = urllib.parse.quote(f"ray.io/cluster={cluster},ray.io/node-type=head")
    url = f"{api}/api/v1/namespaces/{namespace}/pods?labelSelector={selector}"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=10) as answer:
        pods = json.load(answer)["items"]
    (address,) = [pod["status"]["podIP"] for pod in pods if "podIP" in pod.get("status", {})]
    return str(address)


def main() -> None:
    """Become the real program."""
    ray, api, root, *arguments = sys.argv[1:]
    while arguments[:1] == ["start"] and "--head" not in arguments:
        signal.pause()  # a worker: the head of a small machine works alone
    environment = {key: value for key, value in os.environ.items() if key not in PROXIES}
    if arguments[:1] == ["start"]:
        environment["TMPDIR"] = root
    os.execve(ray, [ray, *words_for(arguments, api, root)], environment)


if __name__ == "__main__":
    main()
