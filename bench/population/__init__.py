"""A made-up platform: jobs of many users over months, told by the real rules, loaded by COPY.

A few thousand lives are played through the decider of their kind, so their events, rows and facts
are what the service would have written. Each then stands for many jobs: its text is stamped with
another name, other ids and another hour, and its chain is hashed anew. Seeded; no clock is asked.
What stamping does not keep: ids no longer follow from observations, so such a log can be verified,
folded and reported, and not be decided again (`jobledger replay`).
"""
