"""The instructions of `ops/image/Dockerfile`, and its context as far as it copies it."""

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "ops" / "image" / "Dockerfile"
GOAL = "/opt/jobledger"


def instructions() -> list[tuple[str, str]]:
    """Return each instruction and what follows it; a continued line is one."""
    text = re.sub(r"\\\n\s*", "", DOCKERFILE.read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def copied() -> list[tuple[list[str], str]]:
    """Return sources and place of what is copied out of the context."""
    words = [rest.split() for word, rest in instructions() if word == "COPY"]
    return [(one[:-1], one[-1]) for one in words if not one[0].startswith("--from")]


def ran() -> list[str]:
    """Return what is run."""
    return [rest for word, rest in instructions() if word == "RUN"]


def copy_context(goal: Path) -> None:
    """Do what the COPY instructions do, but for what the file beside them leaves out."""
    for sources, place in copied():
        for source in sources:
            into = goal / place / (source if place in {"./", "."} else "")
            if (ROOT / source).is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(ROOT / source, into, ignore=ignored, dirs_exist_ok=True)
            else:
                named = into / Path(source).name if place.endswith("/") and place != "./" else into
                named.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / source, named)
