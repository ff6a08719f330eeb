"""Record streams for `test_streams`: `python -m tests.frozen.make_streams [--again] [BUNDLE …]`.

Without arguments the lives of `tests.support.lives` and `tests.support.train_lives` that have no
stream yet are recorded. With bundles (`jobledger export JOB > FILE`) those are taken in, so that
what somebody met stays decided as it was. `--again` records what is there anew: only for a change
of behaviour that is meant, and then the change log says so.
"""

import argparse
import shutil
from pathlib import Path

from jobledger.adapters.forensics.bundle_files import read_file, write
from jobledger.core.forensics.bundles.bundle import Bundle
from tests.support.lives import LIVES
from tests.support.recorded import job_called, recorded, stored
from tests.support.records import NOON
from tests.support.train_lives import LOG, LOG_DIGEST, TRAIN_LIVES, recorded_training

FOLDER = Path(__file__).parent / "streams"

NAMES = (*LIVES, *TRAIN_LIVES)
"""The lives of RayJobs and of TrainJobs."""


def path_of(name: str) -> Path:
    """Return where the stream of a life is kept."""
    return FOLDER / f"{name}.bundle"


def main() -> None:
    """Write what is missing, or everything anew."""
    parser = argparse.ArgumentParser(prog="python -m tests.frozen.make_streams")
    parser.add_argument("--again", action="store_true", help="record what is there anew")
    parser.add_argument("bundles", nargs="*", type=Path, help="bundles of real jobs to take in")
    chosen = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    for bundle in chosen.bundles:
        read_file(bundle)  # what is no bundle ends here
        shutil.copy(bundle, path_of(bundle.stem))
    for name in NAMES:
        if chosen.again or not path_of(name).exists():
            with path_of(name).open("w", encoding="utf-8") as file:
                write(bundle_of(name), file)


def bundle_of(name: str) -> Bundle:
    """Return what is recorded of a life, with the evidence that its events name."""
    if name in TRAIN_LIVES:
        events = stored(recorded_training(name))
        named = any(LOG_DIGEST in str(item.record.data) for item in events)
        evidence = {LOG_DIGEST: LOG.encode()} if named else {}
        return Bundle(exported_at=NOON, events=events, evidence=evidence)
    with job_called(name):
        return Bundle(exported_at=NOON, events=stored(recorded(LIVES[name]())))


if __name__ == "__main__":
    main()
