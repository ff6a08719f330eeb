"""Our scripts for Flux do what upstream's do: both are run, with a stand-in for Flux itself.

Upstream's are those of its kept answers. Files, calls of Flux, its environment, and the exit code
are compared.
"""

import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.upstream import trainjob_data
from tests.upstream.trainjob_cases import case_of_changes
from tests.upstream.trainjobs import ours, theirs

RUNTIME, OF_RUNTIME, OF_JOB = "torch-distributed", ["flux"], ["nodes-3"]
NAME = "ConfigMap/train-flux-entrypoint"
PLACES = re.compile(r"(?<![\w}])/(mnt|opt|tmp|curve)\b")
"""Directories of the Pod, which are put below a directory of the test."""

SHOWN = ("PATH", "PYTHONPATH", "FLUX_RC_EXTRA", "STATE_DIR", "FLUX_OUTPUT_DIR")
FLUX = f"""\
#!/bin/bash
{{ printf '<%s>' "$@"; for name in {" ".join(SHOWN)}; do echo "$name=${{!name}}"; done; }} >> $CALLS
[ "$1" != R ] || echo "resources: $*"
[ "$1" != start ] || [ ! -e $CALLS.fails ] || ! rm $CALLS.fails
"""
"""Writes down how it was called; its first start fails where a file says so."""

SOURCED = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "fluxsocket")
"""What the file for whoever looks in from a shell sets."""


def scripts() -> dict[str, dict[str, str]]:
    """Return upstream's scripts and ours, of the same job."""
    runtimes, answers = trainjob_data.read()
    case = case_of_changes(RUNTIME, runtimes[RUNTIME], OF_RUNTIME, OF_JOB)
    built = {"upstream": theirs(case, answers[case.id]), "here": ours(case)}
    return {whose: dict(one.objects[NAME]["data"]) for whose, one in built.items()}


class Pod:
    """A node's directories, and the programs that its scripts call."""

    def __init__(self, root: Path) -> None:
        self.root, self.calls = root, root / "calls"
        self._program("hostname", '#!/bin/bash\necho "$HOST"\n')
        self._program("flux", FLUX)
        self._program("sleep", '#!/bin/bash\necho "sleep $*" >> $CALLS\n')
        view = root / "opt/views/._view/some"
        for file in ("bin/python3.11", "bin/python3", "lib/python3.11/site-packages/flux.py"):
            (view / file).parent.mkdir(parents=True, exist_ok=True)
            (view / file).write_text(file)
        for file, content in (("opt/software/lib.so", "library"), ("curve/curve.cert", "the key")):
            (root / file).parent.mkdir(parents=True)
            (root / file).write_text(content)
        for place in ("mnt/flux", "tmp"):
            (root / place).mkdir(parents=True)

    def _program(self, name: str, content: str) -> None:
        path = self.root / "programs" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
        path.chmod(0o755)

    def run(self, script: str, *args: str, host: str) -> int:
        """Run a script as this host; return its exit code."""
        placed = PLACES.sub(lambda place: f"{self.root}/{place[1]}", script)
        env = {
            "PATH": f"{self.root}/programs:{os.environ['PATH']}",
            "CALLS": str(self.calls),
            "HOST": host,
        }
        command = ["/bin/bash", "-c", placed, "script", *args]
        return subprocess.run(command, env=env, check=False, capture_output=True).returncode

    def sourced(self) -> list[str]:
        """Return what the file with the environment sets."""
        shown = " ".join(f'"${name}"' for name in SOURCED)
        code = f". {self.root}/mnt/flux/flux-view.sh; printf '%s\\n' {shown}"
        said = subprocess.run(["/bin/bash", "-c", code], env={}, check=True, capture_output=True)
        return said.stdout.decode().replace(str(self.root), "").splitlines()

    def files(self) -> dict[str, Any]:
        """Return every file but those of the test, as what it means."""
        found: dict[str, Any] = {}
        for path in sorted(self.root.rglob("*")):
            name = str(path.relative_to(self.root))
            if name.startswith(("programs", "calls")) or name.endswith("flux-view.sh"):
                continue
            if path.is_symlink():
                found[name] = f"-> {path.readlink()}".replace(str(self.root), "")
            elif path.is_dir():
                found[name] = "a directory"
            else:
                content = path.read_text().replace(str(self.root), "")
                broker = name.endswith("broker.toml")
                found[name] = tomllib.loads(content) if broker else content, path.stat().st_mode
        return found


@pytest.mark.parametrize(
    ("host", "args", "fails"),
    [
        ("train-node-0-0", ["python train.py --lr=1"], False),
        ("train-node-0-0", ["python train.py", "--of the runtime"], False),
        ("train-node-0-0", ["python train.py"], True),
        ("train-node-0-0", [""], False),
        ("train-node-0-1", ["python train.py"], False),
        ("train-node-0-1", ["python train.py"], True),
    ],
)
def test_the_scripts_do_what_upstreams_do(
    tmp_path: Path, host: str, args: list[str], *, fails: bool
) -> None:
    seen = {}
    for whose, script in scripts().items():
        (tmp_path / whose).mkdir()
        pod = Pod(tmp_path / whose)
        ends = [pod.run(script["init.sh"], host=host)]
        installed = pod.files()
        (pod.root / "opt/software/lib.so").unlink()  # the node mounts an empty volume there
        if fails:
            (pod.root / "calls.fails").touch()
        ends.append(pod.run(script["entrypoint.sh"], *args, host=host))
        calls = pod.calls.read_text().replace(str(pod.root), "")
        seen[whose] = (ends, installed, pod.files(), calls, pod.sourced())
    assert seen["here"] == seen["upstream"]
    assert "<R><encode><--hosts=train-node-0-[0-2]><--cores=0-1>" in seen["here"][3]
    assert ("sleep 15" in seen["here"][3]) == (fails and host != "train-node-0-0")
