"""The kinds of job outside of the core: how each is watched, acted for, looked for and followed.

A kind is a folder here and one in `core`; `registry` lists them.
"""
