"""`python -m bench [CLAIM …]`: measure the claims and print their figures with the settings."""

import argparse
import importlib
import json
import sys

from bench.figures import Report
from bench.machine import load, machine_settings, run_as_the_service_does

CLAIMS = {
    "forensics": "refolding, deciding again, verifying, a job at an instant; capturing evidence",
    "reports": "every reporting view and documented query under a second; the generator's speed",
    "first_view": "the first view of a job of 500 events in under 300 ms, in Chromium",
    "pages": "the pages of a large ledger, and the reports of its year, in under half a second",
    "parquet": "a platform as Parquet, and the cookbook's questions to DuckDB and Postgres",
    "fold": "what deciding and folding the retry story costs",
    "decode": "what one watched object costs, and how much of that is redaction",
    "append": "an append in batches reaches a fair share of COPY; WAL per event",
    "archive": "what a million events weigh; how fast old jobs leave the log, and verify after it",
    "lateness": "decisions fire on time, however many are pending",
    "restart": "a restart takes as long as there are open jobs, however long the log is",
    "start": "a start with existing jobs: seconds to the first act, memory, requests",
    "replicas": "throughput with 1, 2 and 3 replicas; how soon others act for one that is gone",
    "rayjobs": "RayJobs on a real API server, next to upstream's operator",
    "trainjobs": "TrainJobs on a real API server, JobSets simulated; requests and CPU per job",
    "profile": "where the controller's CPU goes, by thread, folder and function",
    "service": "RayJobs with one retry each through the whole service, on the sandbox",
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
    run_as_the_service_does()
    settings = machine_settings()
    reports = [_measure(name, chosen) for name in names]
    settings["load after"] = load()
    if chosen.output == "json":
        document = {"settings": settings, "claims": [report.document() for report in reports]}
        print(json.dumps(document, indent=2))
    elif chosen.output == "markdown":
        print("; ".join(f"{name}: {value}" for name, value in settings.items()) + ".\n")
        print("\n".join(line for report in reports for line in report.markdown()))
    else:
        print("== settings")
        print("\n".join(f"   {name}: {value}" for name, value in settings.items()))
        print("\n".join(line for report in reports for line in report.lines()))
    return 0


def _measure(name: str, chosen: argparse.Namespace) -> Report:
    report = Report(name, chosen.full, chosen.events, chosen.jobs)
    report.say(CLAIMS[name])
    importlib.import_module(f"bench.{name}").measure(report)
    return report


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("claims", nargs="*", help="which; all if none is named")
    parser.add_argument("--list", action="store_true", help="say which claims there are")
    parser.add_argument("--full", action="store_true", help="the large sizes too (many minutes)")
    parser.add_argument("--events", type=int, default=0, help="so many instead (parquet)")
    parser.add_argument("--jobs", type=int, default=0, help="so many instead (start)")
    parser.add_argument("--output", choices=("text", "json", "markdown"), default="text")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
