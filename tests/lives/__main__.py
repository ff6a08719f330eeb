"""Play lives of RayJobs under both controllers, and tell where they differ: `make lives`.

Without arguments those of the table; `-k suspend` some of them; `--seed 7 --count 50` lives that
are drawn; `--scheduler volcano` as a batch scheduler wants them; `--kills 3` kills our
controller again and again, at moments that are drawn. It ends with 1 where a life differs that
should not, or one does not that should.
"""

import argparse
import os
import sys
from collections.abc import Sequence

from bench.dataplane import NotHere
from tests.apiserver.build import assets
from tests.lives.comparing import differences, with_lost_events
from tests.lives.drawn import drawn
from tests.lives.life import Life
from tests.lives.pair import play_all
from tests.lives.table import LIVES
from tests.lives.told import Told
from tests.upstream.rayjob_changes import SCHEDULERS

COUNT = 40
"""Lives that are drawn where nothing is said."""

SHORT, LONG = 20, 900
"""How many seconds a submitter may outlive its Ray job; no life that is drawn takes so long."""


def main(words: Sequence[str]) -> int:
    """Play what was asked for; return 0 if nothing differs but what is listed."""
    asked = asked_for(words)
    lives = chosen(asked)
    programs = assets(os.environ)
    if programs is None:
        sys.stderr.write("there is no API server: run `make apiserver`\n")
        return 1
    wrong, grace = 0, LONG if asked.seed is not None else SHORT
    played = play_all(lives, programs, grace, asked.scheduler, asked.kills)
    try:
        for life, theirs, ours in played:
            if asked.kills is not None:
                theirs = with_lost_events(theirs, ours)  # noqa: PLW2901  # compared so
            report = said(life, theirs, ours)
            wrong += report != ""
            sys.stdout.write(report)
            sys.stdout.flush()
    except NotHere as missing:
        sys.stderr.write(f"KubeRay's controller cannot be built: {missing}\n")
        return 1
    sys.stdout.write(f"{len(lives)} lives, {wrong} not as docs/differences.md says\n")
    return int(wrong > 0)


def asked_for(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.lives")
    parser.add_argument("-k", default="", help="a part of their names")
    parser.add_argument("--seed", type=int, help="draw them, the first from this seed")
    parser.add_argument("--count", type=int, default=COUNT, help="how many are drawn")
    parser.add_argument(
        "--scheduler", default="", choices=("", *SCHEDULERS), help="who places Pods"
    )
    parser.add_argument("--kills", type=int, help="kill our controller, as this seed draws it")
    return parser.parse_args(words)


def chosen(asked: argparse.Namespace) -> list[Life]:
    """Return the lives that are asked for."""
    if asked.seed is not None:
        seeds = range(asked.seed, asked.seed + asked.count)
        return [drawn(seed, asked.scheduler) for seed in seeds]
    return [life for life in LIVES if asked.k in life.name]


def said(life: Life, theirs: Told, ours: Told) -> str:
    """Return what is to be said of a life that was played; nothing if it is as it should be."""
    found = differences(theirs, ours)
    if bool(found) is bool(life.differs):
        return ""
    if life.differs:
        return f"{life.name}: does not differ any more ({life.differs})\n"
    done = " ".join(["", life.mode, str(life.spec), *life.changes, "-", *theirs.end["done"]])
    return "\n    ".join([f"{life.name}:{done}", *found]) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
