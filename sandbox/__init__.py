"""A local Kubernetes for people without one, and for tests: an API server in memory.

Start reading at `sandbox.api_server`. A request goes `application` (errors, faults) →
`targets` (what does its address mean) → `endpoint` (which verb) → `creation`, `updates`,
`patching`, `deletion`, `listing`, `watch` → `storage`.

It is proved by `tests/contracts/kubernetes_api*.py`, which also run against a real kube-apiserver.
What a real one does and this one does not:

* nothing is written to disk: a stopped server forgets everything;
* no authentication, no authorisation, no webhooks, no quotas, no admission plugins;
* built-in kinds have no full schema: a field of the wrong type is stored as it is;
* CEL rules other than those of our own CRDs are not evaluated
(`sandbox.admission.cel_rules`);
* JSON and YAML only, but for what `kubectl create KIND` makes up
(`sandbox.http.protobuf`);
* legacy discovery only (clients fall back to it by themselves);
* no conversion webhooks: the versions of a custom kind differ in `apiVersion` alone;
* deleting a CustomResourceDefinition removes its objects at once, finalizers or not.

It plays three parts of kube-controller-manager: owner garbage collection, the end of a namespace,
and (in `controllers/`, as ordinary clients) the Jobs.
"""
