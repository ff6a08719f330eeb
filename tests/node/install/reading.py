"""What the commands that read the ledger say of a job, asked on this machine."""

import json
import sys
from pathlib import Path
from typing import Any

from tests.node.install.shell import Shell


class Ledger:
    """The commands that read the ledger, on this machine."""

    def __init__(self, shell: Shell, url: str) -> None:
        self._shell, self._url = shell, url

    def says(self, word: str, name: str) -> Any:  # noqa: ANN401 # a document
        """Return what a command says of a job."""
        program = Path(sys.executable).parent / "jobledger"
        return json.loads(
            self._shell.run(f"DATABASE_URL={self._url} {program} {word} {name} -o json")
        )
