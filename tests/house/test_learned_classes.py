"""msgspec learns the classes that it reads while modules are imported, never in two threads.

It learns a class at its first read; a second thread that reads the same class meanwhile ends the
process with SIGSEGV. What the log holds is learned by `core.log.codec.learn`, all else by a
decoder that a module makes when it is imported.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONVERTED_BY = {
    "core/log/codec.py",  # events: learned by core.catalogue
    "core/log/observed.py",  # observations: learned by core.turns
    "core/rayjob/validation/types.py",  # a specification: converted once with the import
    "adapters/kube/errors.py",  # a Status: it has a decoder there
}
FIRST_READS = """
import sys
from jobledger.core.{module} import {name}
from msgspec import Struct, ValidationError, convert

learned = []

def note(frame, event, _):
    if event == "call" and frame.f_code.co_name == "get_class_annotations":
        learned.append(cls.__name__)

class Unknown(Struct):
    at: int

sys.setprofile(note)
for cls in (*{name}.values(), Unknown):
    try:
        convert({{"at": None}}, cls)
    except ValidationError:
        pass
print(*learned)
"""


def learning(tree: ast.Module) -> Iterator[str]:
    """Yield what a module does that may let msgspec learn a class after the import."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        if name in {"convert", "msgspec.convert"}:
            yield "convert"
        if name.endswith("json.decode") and any(word.arg == "type" for word in node.keywords):
            yield f"{name}(type=…)"
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            calls = (node for node in ast.walk(statement) if isinstance(node, ast.Call))
            for call in calls:
                if ast.unparse(call.func) in {"Decoder", "json.Decoder", "msgspec.json.Decoder"}:
                    yield "a decoder made in a function"


def test_no_class_is_learned_after_the_import() -> None:
    found = {
        str(file.relative_to(ROOT)): said
        for folder in ("core", "adapters", "sandbox")
        for file in (ROOT / folder).rglob("*.py")
        if (said := set(learning(ast.parse(file.read_text(encoding="utf-8")))))
    }
    made = found.pop("core/log/codec.py")
    assert made == {"convert", "a decoder made in a function"}, "learn and decode"
    assert found == {file: {"convert"} for file in CONVERTED_BY - {"core/log/codec.py"}}


def test_what_would_learn_late_is_seen() -> None:
    assert set(learning(ast.parse("def f(x): return msgspec.json.decode(x, type=T)")))
    assert set(learning(ast.parse("def f(x): return Decoder(T).decode(x)")))
    assert not set(learning(ast.parse("_read = msgspec.json.Decoder(T)")))


@pytest.mark.parametrize(
    ("module", "name"), [("catalogue", "TYPES"), ("turns", "OBSERVATIONS")], ids=["events", "seen"]
)
def test_all_that_the_log_holds_is_learned_with_the_import(module: str, name: str) -> None:
    command = [sys.executable, "-c", FIRST_READS.format(module=module, name=name)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["Unknown"]
