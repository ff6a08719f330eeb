"""How a CustomResourceDefinition becomes kinds that are served, and where ours lie."""

from pathlib import Path

import yaml

from jobledger.sandbox.model.documents import Document, now
from jobledger.sandbox.model.kinds import Conversion, Kind
from jobledger.sandbox.model.refusals import FieldError, required, wrong

_BESIDE_THIS_FILE = Path(__file__).parents[1] / "crds"
_IN_A_CHECKOUT = Path(__file__).resolve().parents[2] / "ops" / "crds"


def bundled_definitions() -> list[Document]:
    """Return our own CustomResourceDefinitions: from the wheel, or from `ops/crds` in a checkout.

    Raises:
        FileNotFoundError: neither place has any.
    """
    for folder in (_BESIDE_THIS_FILE, _IN_A_CHECKOUT):
        files = sorted(folder.glob("*.yaml"))
        if files:
            return [_parsed(file.read_text(encoding="utf-8")) for file in files]
    raise FileNotFoundError(f"no CRDs in {_BESIDE_THIS_FILE} nor in {_IN_A_CHECKOUT}")


def _parsed(text: str) -> Document:
    # the C parser, where there is one: the pure one takes a second for all of them
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    parsed: Document = yaml.load(text, loader)  # noqa: S506  # both are safe loaders
    return parsed


def check_definition(crd: Document) -> list[FieldError]:
    """Return what keeps a CustomResourceDefinition from being served."""
    spec = crd.get("spec") or {}
    names = spec.get("names") or {}
    errors = [
        required(f"spec.{field}") for field in ("group", "scope", "versions") if not spec.get(field)
    ]
    errors += [
        required(f"spec.names.{field}") for field in ("plural", "kind") if not names.get(field)
    ]
    wanted = f"{names.get('plural')}.{spec.get('group')}"
    found = crd["metadata"].get("name")
    if not errors and found != wanted:
        errors.append(wrong("metadata.name", found, 'must be spec.names.plural+"."+spec.group'))
    for index, version in enumerate(spec.get("versions") or ()):
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            errors.append(required(f"spec.versions[{index}].schema.openAPIV3Schema"))
    if sum(bool(version.get("storage")) for version in spec.get("versions") or ()) != 1:
        rule = "must have exactly one version marked as storage version"
        errors.append(wrong("spec.versions", len(spec.get("versions") or ()), rule))
    return errors


def complete(crd: Document) -> None:
    """Fill in names and the status that say the definition is served, in place."""
    spec = crd["spec"]
    names = spec["names"]
    names.setdefault("singular", names["kind"].lower())
    names.setdefault("listKind", f"{names['kind']}List")
    spec.setdefault("conversion", {"strategy": "None"})
    stored = [version["name"] for version in spec["versions"] if version.get("storage")]
    if crd.get("status", {}).get("conditions"):
        crd["status"]["acceptedNames"] = names
        return
    crd["status"] = {
        "conditions": [
            _condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            _condition(
                "Established", "InitialNamesAccepted", "the initial names have been accepted"
            ),
        ],
        "acceptedNames": names,
        "storedVersions": stored,
    }


def _condition(kind: str, reason: str, message: str) -> Document:
    return {
        "type": kind,
        "status": "True",
        "lastTransitionTime": now(),
        "reason": reason,
        "message": message,
    }


def kinds_of(crd: Document) -> list[Kind]:
    """Return the kinds a valid, completed definition serves: one per served version.

    All versions share their objects; conversion changes nothing but `apiVersion`.
    """
    spec = crd["spec"]
    names = spec["names"]
    group = spec["group"]
    stored = next(version["name"] for version in spec["versions"] if version.get("storage"))
    found = []
    for version in spec["versions"]:
        if not version.get("served"):
            continue
        warning = f"{group}/{version['name']} {names['kind']} is deprecated"
        kind = Kind(
            group=group,
            version=version["name"],
            plural=names["plural"],
            kind=names["kind"],
            namespaced=spec["scope"] == "Namespaced",
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            has_status="status" in (version.get("subresources") or {}),
            has_generation=True,
            unconditional_update=False,
            custom=True,
            schema=version["schema"]["openAPIV3Schema"],
            columns=tuple(version.get("additionalPrinterColumns") or ()),
            stored_as=(group, names["plural"]),
            stored_version=f"{group}/{stored}",
            to_storage=_as_version(f"{group}/{stored}"),
            from_storage=_as_version(f"{group}/{version['name']}"),
            deprecation_warning=(version.get("deprecationWarning") or warning)
            if version.get("deprecated")
            else "",
            singular=names["singular"],
            list_kind=names["listKind"],
        )
        found.append(kind)
    return found


def _as_version(api_version: str) -> Conversion:
    def convert(document: Document) -> Document:
        return document | {"apiVersion": api_version}

    return convert
