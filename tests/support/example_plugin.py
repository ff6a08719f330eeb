"""The example of a plugin in the documents, installed as a user installs it."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "gang-scheduled"
MODULE = "gang_scheduled"
INSTALL_SECONDS = 300


def install(target: Path, work: Path, *changes: tuple[str, str]) -> None:
    """Install the example into a folder as a user does, with some of its words changed."""
    source = shutil.copytree(EXAMPLE, work / f"source-{target.name}")
    for file in (source / "pyproject.toml", source / f"{MODULE}.py"):
        written = file.read_text()
        for before, after in changes:
            written = written.replace(before, after)
        file.write_text(written)
    offline = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet")
    pip = (sys.executable, "-m", "pip", "install", *offline)
    words = [*pip, "--target", str(target), str(source)]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
