"""The rules of Jobledger: values in, values out.

This package imports the standard library, msgspec for its values, and nothing else. It has no
clock, no dice, no environment, no log and does no I/O: instants and identifiers come in with the
observation, randomness is derived by hashing. Everything that touches the world lives in
`adapters`, which imports this package and never the other way.

Where to start reading: `core.decider` (the one shape of every rule), then `core.rayjob.phases`
(the life of a
RayJob in prose and as a table), then `core.rayjob.decide.decide`.

In a checkout `core` and `adapters` lie at the top; they are imported as `jobledger.core` and
`jobledger.adapters`, and installed under that one name (`ops/package.py`). In prose the leading
`jobledger.` is left out.
"""
