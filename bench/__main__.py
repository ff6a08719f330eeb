"""`python -m bench [CLAIM …]`: measure the claims and print their figures with the settings."""

import argparse
import importlib
import json
import sys

from bench.figures import Report
from bench.machine import SWITCH_INTERVAL_SECONDS, machine_settings

CLAIMS = {
    "fold": "what deciding and folding the retry story costs",
    "decode": "what one watched object costs, and how much of that is redaction",
    "append": "an append in batches reaches a fair share of COPY; WAL per event",
    "lateness": "decisions fire on time, however many are pending",
    "restart": "a restart takes as long as there are open jobs, however long the log is",
    "service": "RayJobs with one retry each through the whole service; requests and CPU per job",
}


def main() -> int:
    """Measure what is asked for; return the exit code."""
    chosen = _arguments()
    if chosen.list:
        print("\n".join(f"{name:10} {text}" for name, text in CLAIMS.items()))
        return 0
    names = chosen.claims or list(CLAIMS)
    unknown = sorted(set(names) - set(CLAIMS))
    if unknown:
        print(f"there is no {', '.join(unknown)}; choose from {', '.join(CLAIMS)}", file=sys.stderr)
        return 2
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    settings = machine_settings()
    reports = [_measure(name, full=chosen.full) for name in names]
    if chosen.output == "json":
        document = {"settings": settings, "claims": [report.document() for report in reports]}
        print(json.dumps(document, indent=2))
    else:
        print("== settings")
        print("\n".join(f"   {name}: {value}" for name, value in settings.items()))
        print("\n".join(line for report in reports for line in report.lines()))
    return 0


def _measure(name: str, *, full: bool) -> Report:
    report = Report(name, full)
    report.say(CLAIMS[name])
    importlib.import_module(f"bench.{name}").measure(report)
    return report


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("claims", nargs="*", help="which; all if none is named")
    parser.add_argument("--list", action="store_true", help="say which claims there are")
    parser.add_argument("--full", action="store_true", help="the large sizes too (many minutes)")
    parser.add_argument("--output", choices=("text", "json"), default="text")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
