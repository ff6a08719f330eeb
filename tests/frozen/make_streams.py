"""Record streams for `test_streams`: `python -m tests.frozen.make_streams [--again] [BUNDLE …]`.

Without arguments the lives of `tests.support.lives` that have no stream yet are recorded. With
bundles (`jobledger export JOB > FILE`) those are taken in, so that what somebody met stays decided
as it was. `--again` records what is there anew: only for a change of behaviour that is meant, and
then the change log says so.
"""

import argparse
import shutil
from pathlib import Path

from adapters.forensics.bundle_files import read_file, write
from core.forensics.bundle import Bundle
from tests.support.lives import LIVES
from tests.support.recorded import job_called, recorded, stored
from tests.support.records import NOON

FOLDER = Path(__file__).parent / "streams"


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
    for name, story in LIVES.items():
        if chosen.again or not path_of(name).exists():
            with job_called(name):
                events = stored(recorded(story()))
            with path_of(name).open("w", encoding="utf-8") as file:
                write(Bundle(exported_at=NOON, events=events), file)


if __name__ == "__main__":
    main()
