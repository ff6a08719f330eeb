"""The program that asks upstream's own code: built from the Go module beside this file.

The module names a release of upstream; the Go module proxy has it. `make upstream` runs this.
"""

import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TRAINER = HERE / "trainer"
KUBERAY = HERE / "kuberay"
MODULE = "github.com/kubeflow/trainer/v2"


class CannotAsk(RuntimeError):
    """Upstream's code cannot be built or does not answer; the message says what to do."""


class Oracle:
    """Upstream's code, running: one question after the other."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to one case.

        Raises:
            CannotAsk: the program ended.
        """
        asking, answering = self._process.stdin, self._process.stdout
        assert asking is not None
        assert answering is not None
        asking.write(json.dumps(question) + "\n")
        asking.flush()
        line = answering.readline()
        if not line:
            raise CannotAsk(f"upstream's code ended at case {question.get('id')}")
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def oracle(program: Path) -> Iterator[Oracle]:
    """Yield a running oracle; it ends with its input."""
    process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield Oracle(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


def build(module: Path, program: Path) -> None:
    """Compile the program of a Go module.

    Raises:
        CannotAsk: there is no Go, or the compiler or the module proxy refuses.
    """
    go = shutil.which("go")
    if go is None:
        raise CannotAsk("go is not installed; upstream's code is compiled with Go 1.26 or newer")
    made = subprocess.run(
        [go, "build", "-o", program, "."], cwd=module, capture_output=True, text=True, check=False
    )
    if made.returncode:
        raise CannotAsk(f"upstream's code cannot be compiled: {made.stderr.strip()[-2000:]}")


def source_of(module: Path, name: str) -> Path:
    """Return the folder with the source of a module that another requires."""
    said = subprocess.run(
        ["go", "list", "-m", "-f", "{{.Dir}}", name],
        cwd=module,
        capture_output=True,
        text=True,
        check=True,
    )
    return Path(said.stdout.strip())


def manifests(place: Path, kinds: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects of some kinds in a YAML file, or in those below a folder, in order."""
    import yaml  # noqa: PLC0415 only where files of upstream are read

    wanted = frozenset(kinds)
    for path in [place] if place.is_file() else sorted(place.rglob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            if isinstance(document, dict) and document.get("kind") in wanted:
                yield document
