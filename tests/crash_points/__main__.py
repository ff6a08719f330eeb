"""Kill real controllers at every point of every life: `python -m tests.crash_points --all`."""

import argparse
import logging
import sys
import time
from dataclasses import replace

import structlog

from tests.crash_points.campaign import Campaign, Thoroughness
from tests.crash_points.grounds import LANES, grounds
from tests.crash_points.lives import LIVES


def main() -> int:
    """Run a campaign; return 1 if a point was not hit."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash_points", description=__doc__)
    extent = parser.add_mutually_exclusive_group()
    extent.add_argument(
        "--all",
        action="store_const",
        dest="extent",
        const=Thoroughness.LIVES,
        help="each point of each life, before and after (by default: in one, and some of the rest)",
    )
    extent.add_argument(
        "--every-step",
        action="store_const",
        dest="extent",
        const=Thoroughness.HITS,
        help="each single step of each life, before and after: three times as many",
    )
    parser.add_argument("--lanes", type=int, default=LANES, help="controllers at once")
    names = [life.name for life in LIVES]
    parser.add_argument("--life", action="append", choices=names, help="only this life; repeatable")
    asked = parser.parse_args()
    quiet = structlog.make_filtering_bound_logger(logging.CRITICAL)  # the sandbox is among killed
    structlog.configure(wrapper_class=quiet)
    begun = time.monotonic()

    def say(line: str) -> None:
        print(f"{time.monotonic() - begun:7.1f} s  {line}", flush=True)  # noqa: T201

    with grounds(asked.lanes) as lanes:
        campaign = Campaign(lanes, asked.extent or Thoroughness.SAMPLE, say)
        findings = campaign.run(life for life in LIVES if not asked.life or life.name in asked.life)
    if asked.life:  # some lives alone need not pass every point
        findings = replace(findings, unhit=())
    for line in findings.lines():
        say(line)
    return 1 if findings.unhit else 0


if __name__ == "__main__":
    sys.exit(main())
