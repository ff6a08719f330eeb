"""Run lives on both sides, and say where they differ otherwise than on purpose.

`python -m tests.operators.train_lives [PART OF A NAME…] [--seeds 20]`; what was seen is kept in
`build/train-lives`, and `--only ours` compares with what was seen of Trainer before; `--kills 3`
kills our controller again and again, at moments that are drawn.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from tests.apiserver.build import CannotBuild, assets, jobset_controller
from tests.operators.build import TRAINER
from tests.operators.train_lives import comparing, pair, playing
from tests.operators.train_lives.cases import LIVES

KEPT = Path("build/train-lives")
DIFFER, NOT_COMPARED = 1, 2
RESUMED = ("torchtune", "6 ended")
"""A life that Trainer cannot suspend, and when it is Complete here all the same."""


def main() -> int:
    """Return 0 if nothing differs; say what is missing where the programs are not built."""
    try:
        TRAINER.built(os.environ)
    except CannotBuild as problem:
        sys.stderr.write(f"{problem}\n")
        return NOT_COMPARED
    if assets(os.environ) is None or jobset_controller(os.environ) is None:
        sys.stderr.write("there is no API server or no JobSet controller: run `make apiserver`\n")
        return NOT_COMPARED
    return compare(_arguments())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seeds", type=int, default=0, help="so many drawn lives")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--kills", type=int, help="kill our controller, as this seed draws it")
    parser.add_argument("--only", choices=["trainer", "ours"])
    parser.add_argument("--kept", type=Path, default=KEPT)
    parser.add_argument("--conditions", default="upstream", help="JOBLEDGER_TRAINJOB_CONDITIONS")
    return parser.parse_args()


def compare(arguments: argparse.Namespace) -> int:
    """Have the lives take place, and compare them."""
    drawn = range(arguments.start, arguments.start + arguments.seeds)
    names = [f"{playing.DRAWN}{seed}" for seed in drawn]
    if arguments.names or not names:
        wanted = arguments.names or [""]
        names = [one for one in LIVES if any(part in one for part in wanted)] + names
    arguments.kept.mkdir(parents=True, exist_ok=True)
    seen = {}
    with tempfile.TemporaryDirectory(prefix="train-lives-") as directory:
        for side in ("trainer", "ours"):
            file = arguments.kept / f"{side}.json"
            if arguments.only in (None, side):
                opened = pair.opened(
                    side, Path(directory) / side, arguments.conditions, arguments.kills
                )
                with opened as running:
                    file.write_text(json.dumps(playing.play(running, names)))
            seen[side] = json.loads(file.read_text())
    theirs = {name: one for name, one in seen["trainer"].items() if name in seen["ours"]}
    ours = seen["ours"]
    if arguments.conditions != "upstream":
        theirs, ours = comparing.with_ends_last(theirs), comparing.with_ends_last(ours)
    found = playing.findings(theirs, ours)
    sys.stdout.write(f"{playing.in_words(found)}\n{len(theirs)} lives, {len(found)} differ\n")
    life, step = RESUMED
    if "'Complete=True" not in str(seen["ours"].get(life, {step: "'Complete=True"}).get(step)):
        sys.stdout.write(f"{life} was not resumed\n")
        return DIFFER
    return DIFFER if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
