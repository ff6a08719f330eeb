"""The sample data: some 200 jobs of four weeks, for the cookbook, the pictures and the tests.

Deterministic: the same jobs, names and instants every time. `END` is the "now" to ask reports for.
"""

from bench.population.loading import Loaded, load
from bench.population.population import END, SAMPLE

__all__ = ["END", "load_sample"]


def load_sample(url: str) -> Loaded:
    """Load the sample into an empty ledger (schema up to date); the URL is that of its owner."""
    return load(url, SAMPLE)
