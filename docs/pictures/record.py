"""Records the pictures of the README: runs the demonstration and exports what it prints as SVG.

Run it as `python -m docs.pictures.record`. What is exported is what the terminal shows, cut into
two pictures: the live table, and the history of the job that was retried. Lines that a terminal
would wrap are cut, with an ellipsis.
"""  # noqa: INP001 run with -m from the top of the repository, never installed

import io
import re
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent
WIDTH = 110
HISTORY, QUERY = "$ jobledger history", "$ psql"
FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def played() -> list[Text]:
    """Run the demonstration in this terminal and return the lines it printed."""
    from jobledger.adapters.cli import output  # noqa: PLC0415 the console is exchanged before it is used

    recording = Console(record=True, width=WIDTH, force_terminal=True, color_system="truecolor")
    output.console = recording
    from jobledger.sandbox.commands.demo import demo  # noqa: PLC0415 see above

    demo()
    return list(Text.from_ansi(recording.export_text(styles=True)).split())


def export(lines: list[Text], title: str, path: Path) -> None:
    """Write lines as a picture; the fonts are the viewer's own."""
    console = Console(
        record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    for line in lines:
        console.print(line, soft_wrap=False, overflow="ellipsis", no_wrap=True)
    path.write_text(FONTS.sub("", console.export_svg(title=title)))


def main() -> None:
    """Run the demonstration and write both pictures."""
    lines = played()
    plain = [line.plain for line in lines]
    history = next(number for number, line in enumerate(plain) if line.startswith(HISTORY))
    query = next(number for number, line in enumerate(plain) if line.startswith(QUERY))
    table = next(number for number, line in enumerate(plain) if line.startswith("SECONDS"))
    export(lines[table : history - 1], "make demo", HERE / "demo.svg")
    export(lines[history : query - 1], "jobledger history third-time-lucky", HERE / "history.svg")


if __name__ == "__main__":
    main()
