"""The instructions of `ops/image/Dockerfile`, and its context as far as it copies it.

Of this checkout, or of the one at `root`.
"""

import json
import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from string import Template

ROOT = Path(__file__).resolve().parents[2]
PLACE = Path("ops") / "image" / "Dockerfile"
DOCKERFILE = ROOT / PLACE
GOAL = "/opt/jobledger"


def instructions(root: Path = ROOT) -> list[tuple[str, str]]:
    """Return each instruction and what follows it; a continued line is one."""
    text = re.sub(r"\\\n\s*", "", (root / PLACE).read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def copied(root: Path = ROOT) -> list[tuple[list[str], str]]:
    """Return sources and place of what is copied out of the context."""
    words = [rest.split() for word, rest in instructions(root) if word == "COPY"]
    return [(one[:-1], one[-1]) for one in words if not one[0].startswith("--from")]


def ran(root: Path = ROOT) -> list[str]:
    """Return what is run."""
    return [rest for word, rest in instructions(root) if word == "RUN"]


def container_settings(root: Path, given: Mapping[str, str], path: str) -> dict[str, object]:
    """Return what the image says of its containers, as an OCI image has it.

    Args:
        root: of the checkout.
        given: the arguments of the build.
        path: PATH as the base image has it.
    """
    all_of_them = instructions(root)
    last = max(at for at, (word, _) in enumerate(all_of_them) if word == "FROM")
    stage = all_of_them[last:]
    defaults = (rest.partition("=") for word, rest in stage if word == "ARG")
    known = {"PATH": path, **{name: value for name, _, value in defaults}, **given}

    def pairs(wanted: str) -> list[str]:
        lines = [rest for word, rest in stage if word == wanted]
        return [one for line in lines for one in shlex.split(Template(line).substitute(known))]

    (user,) = (rest for word, rest in stage if word == "USER")
    as_list = {word: json.loads(rest) for word, rest in stage if word in {"ENTRYPOINT", "CMD"}}
    return {
        "User": user,
        "Env": pairs("ENV"),
        "Entrypoint": as_list["ENTRYPOINT"],
        "Cmd": as_list["CMD"],
        "Labels": dict(one.split("=", 1) for one in pairs("LABEL")),
    }


def copy_context(goal: Path, root: Path = ROOT) -> None:
    """Do what the COPY instructions do, but for what the file beside them leaves out."""
    for sources, place in copied(root):
        for source in sources:
            into = goal / place / (source if place in {"./", "."} else "")
            if (root / source).is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(root / source, into, ignore=ignored, dirs_exist_ok=True)
            else:
                named = into / Path(source).name if place.endswith("/") and place != "./" else into
                named.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / source, named)
