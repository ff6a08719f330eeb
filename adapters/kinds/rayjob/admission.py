"""The admission webhook of RayJobs."""

from collections.abc import Mapping

from jobledger.adapters.admission.reviews import Answer, Handler
from jobledger.adapters.service.objects.runtime_env import parse_runtime_env
from jobledger.core.rayjob.validation.admission import admission_of
from jobledger.core.values.documents import Manifest, text

VALIDATE_RAYJOB = "/validate-ray-io-v1-rayjob"


def rayjob_admission(*, strict: bool) -> Mapping[str, Handler]:
    """Return the handler by its path, upstream's.

    `strict` refuses RayJobs for all that their status would refuse, and not only for their name.
    """

    def validate(new: Manifest, old: Manifest | None) -> Answer:
        problem = parse_runtime_env(text(new, "spec", "runtimeEnvYAML"))[1]
        return Answer(verdict=admission_of(new, old, problem, strict=strict))

    return {VALIDATE_RAYJOB: validate}
