"""What changes in a child Job that is resumed: it takes what its template was given meanwhile.

Labels, annotations and the node selector are merged, as other controllers may have added some; so
are tolerations and scheduling gates.
Source: JobSet v0.12.0, pkg/controllers/jobset_controller.go (resumeJob).
"""

from jobledger.core.values.documents import Json, Manifest, child, items

MERGED_MAPS = (("metadata", "labels"), ("metadata", "annotations"), ("spec", "nodeSelector"))
MERGED_LISTS = (("spec", "tolerations"), ("spec", "schedulingGates"))


def resumption(job: Manifest, template: Manifest) -> Manifest:
    """Return the fields of the Job's spec to change; `template` is its group's Pod template."""
    known = child(job, "spec", "template")
    changed: dict[str, dict[str, Json]] = {"metadata": {}, "spec": {}}
    for part, name in MERGED_MAPS:
        merged: dict[str, Json] = {**child(known, part, name), **child(template, part, name)}
        if merged != dict(child(known, part, name)):
            changed[part][name] = merged
    for part, name in MERGED_LISTS:
        before = list(items(known, part, name))
        added = [one for one in items(template, part, name) if one not in before]
        if added:
            changed[part][name] = [*before, *added]
    filled: dict[str, Json] = {part: fields for part, fields in changed.items() if fields}
    return {"suspend": False, **({"template": filled} if filled else {})}
