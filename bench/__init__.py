"""The figures: measured in one run, printed with their settings, as ratios where they can be.

`python -m bench --list` says which claims there are, `python -m bench append` measures one. Nothing
here is a test: a figure says what this machine did today, next to something to compare it with.
"""
