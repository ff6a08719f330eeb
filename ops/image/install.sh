#!/bin/sh
# Makes an environment with the program in it: sh ops/image/install.sh DIRECTORY
#
# Run at the top of a checkout, by the Dockerfile and by its test. CONTENTS names the file in
# requirements/ that says what comes with it. Everything is pinned by hash; nothing is built but the
# program itself, by a hatchling that stays outside.
set -eu
goal=$1
python=${PYTHON:-python3}
maker=$(mktemp -d)
trap 'rm -rf "$maker"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
"$python" -m venv "$maker/venv"
"$maker/venv/bin/pip" install --quiet --require-hashes --only-binary :all: -r requirements/build.txt
"$maker/venv/bin/python" -m hatchling build -t wheel -d "$maker/dist" >/dev/null 2>&1
"$python" -m venv --without-pip "$goal"
into() { "$maker/venv/bin/pip" --python "$goal/bin/python" install --quiet --no-compile "$@"; }
into --require-hashes --only-binary :all: -r "requirements/${CONTENTS:-image}.txt"
into --no-deps "$maker"/dist/*.whl
cp LICENSE ops/image/licences.md "$goal/"
bill="ops/image/sbom-${CONTENTS:-image}.cdx.json"
if [ -f "$bill" ]; then cp "$bill" "$goal/sbom.cdx.json"; fi # none is made of `run`
# Compiled here, as nothing can be written later; by content, so that the same files come out.
"$goal/bin/python" -m compileall -q -f --invalidation-mode unchecked-hash "$goal/lib"
