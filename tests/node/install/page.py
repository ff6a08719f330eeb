"""The commands of `docs/howto/run-in-a-cluster.md`, in their order."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "howto" / "run-in-a-cluster.md"
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
CONTINUED = re.compile(r"\\\n\s*")


@dataclass(frozen=True, slots=True)
class Command:
    """One command that a reader types."""

    section: str
    """The heading under which it stands."""
    text: str


def commands(page: str) -> list[Command]:
    """Return the commands of a page; a continued line is one.

    Raises:
        ValueError: a line of a block is no command.
    """
    found = []
    for part in re.split(r"^## ", page, flags=re.MULTILINE):
        section = part.partition("\n")[0]
        for block in BLOCK.findall(part):
            for line in CONTINUED.sub("", block).splitlines():
                if not line.startswith("$ "):
                    raise ValueError(f"a line shows no command: {line}")
                found.append(Command(section, line.removeprefix("$ ")))
    return found


def typed(command: str, said: dict[str, str]) -> str:
    """Return a command with what a reader puts in place of the page's examples.

    Args:
        command: as the page has it.
        said: what stands there -> what the reader has.
    """
    for example, own in said.items():
        command = command.replace(example, own)
    return command
