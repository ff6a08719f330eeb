"""The node agent: an ordinary client of a Kubernetes API that runs Pods as local processes.

* `spawner` is a process of its own that owns every container's processes, so that nothing
  survives the agent, however the agent ends; `processes` speaks to it.
* `pod_run` is the life of one Pod; `agent` is the one thread that drives them all.
* There is no mount namespace: a volume lies in the Pod's own directory, and its `mountPath` is
  rewritten to that place in command, args and environment (`sandbox.ray.paths`). What a
  program has in its own text is not rewritten; it can read `JOBLEDGER_SANDBOX_ROOT` (the Pod's
  directory) and `JOBLEDGER_SANDBOX_MOUNTS` (mount path -> place, as JSON).
* There is no network namespace: each Pod has a loopback address of its own (`127.x.y.z`), and
  `localhost:PORT` is rewritten to it for the ports that the Pod's containers declare.
* Images are ignored.
"""
