"""Where upstream's definitions and samples lie: unchanged, with their source, in the repository."""

from pathlib import Path

UPSTREAM = Path(__file__).resolve().parents[1] / "upstream" / "data"
CRDS = UPSTREAM / "crds"
SAMPLES = UPSTREAM / "samples" / "rayjob"
RUNTIMES = UPSTREAM / "samples" / "trainer-runtimes"
