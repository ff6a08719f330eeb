"""Writes the cookbook and the pictures of reports: `python -m docs.cookbook.generate`.

Both are made from the sample data, in a Postgres that is started for it. `--check` writes nothing
and says whether the page is stale.
"""  # noqa: INP001 see recipe.py

import sys
from pathlib import Path

from bench.sample import END
from docs.cookbook.page import page
from docs.cookbook.pictures import draw
from docs.cookbook.sample import sample

DOCS = Path(__file__).resolve().parents[1]
PAGE = DOCS / "howto" / "cookbook.md"


def main() -> int:
    """Write the page and the pictures, or with `--check` say whether the page is stale."""
    with sample() as engine:
        made = page(engine, END)
        if "--check" in sys.argv[1:]:
            is_stale = not PAGE.is_file() or PAGE.read_text() != made
            sys.stdout.write("docs/howto/cookbook.md is stale\n" if is_stale else "")
            return int(is_stale)
        PAGE.write_text(made)
        draw(engine, END, DOCS / "pictures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
