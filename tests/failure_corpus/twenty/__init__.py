"""Twenty failed jobs of all kinds in a ledger: `python -m tests.failure_corpus.twenty`.

They are cases of the corpus under names of their own, with the runs before two of them.
"""
