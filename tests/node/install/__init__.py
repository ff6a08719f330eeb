"""The chart on the real node, by the commands of `docs/howto/run-in-a-cluster.md`."""
