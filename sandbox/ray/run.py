"""The program behind the sandbox's `ray` command; started as `python -I -S run.py ARGUMENTS`.

Isolated mode keeps the user's `PYTHONPATH` and site packages out, so only the root that holds
`jobledger` has to be added; it goes last, where it can shadow nothing of the standard library.
"""

import sys

if __name__ == "__main__":
    sys.path.append(__file__.rsplit("/jobledger/sandbox/", 1)[0])
    from jobledger.sandbox.ray.commands import main

    sys.exit(main(sys.argv[1:]))
