"""Write the samples that are not there yet: `python -m tests.frozen.make_samples`.

Run it when a type or a schema version is new. What is there is never written again.
"""

from jobledger.core.catalogue import SCHEMA_VERSION, TYPES
from tests.frozen.samples import FOLDER, path_of, sample, written


def main() -> None:
    """Write what is missing."""
    FOLDER.mkdir(exist_ok=True)
    for name in TYPES:
        path = path_of(name, SCHEMA_VERSION)
        if not path.exists():
            path.write_text(written(sample(name)))


if __name__ == "__main__":
    main()
