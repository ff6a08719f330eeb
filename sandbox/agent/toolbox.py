"""The directory that comes first on every container's path: `python`, `ray`, `torchrun`."""

import shlex
import shutil
import sys
from pathlib import Path

from jobledger.sandbox.ray import run as ray_command
from jobledger.sandbox.torch import run as torch_command


def make_toolbox(directory: Path) -> Path:
    """Write the commands into `directory` and return it.

    They are scripts and not links: a link to a virtual environment's interpreter forgets the
    environment, and with it the installed libraries. A `torchrun` that is there is left in place.
    """
    directory.mkdir(parents=True, exist_ok=True)
    interpreter = shlex.quote(sys.executable)
    program = shlex.quote(str(Path(ray_command.__file__).absolute()))
    scripts = {
        "python": f'exec {interpreter} "$@"',
        "python3": f'exec {interpreter} "$@"',
        "ray": f'exec {interpreter} -I -S {program} "$@"',
    }
    if shutil.which("torchrun") is None:
        launcher = shlex.quote(str(Path(torch_command.__file__).absolute()))
        scripts["torchrun"] = f'exec {interpreter} {launcher} "$@"'
    for name, line in scripts.items():
        script = directory / name
        script.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        script.chmod(0o755)
    return directory
