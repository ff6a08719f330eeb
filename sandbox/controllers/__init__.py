"""The sandbox's controllers: ordinary clients of a Kubernetes API that play what a cluster has.

Each reconcile is level-triggered: it looks at what the watches have told (`store`), computes what
should be, and does the difference. One thread (`loop`) runs all of them, with backoff.
"""
