"""What a class says of its attributes: names, annotations, defaults and the docstrings below."""  # noqa: INP001 see generate.py

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute as it stands in the source."""

    name: str
    annotation: str
    default: str
    """Source of the default; empty where there is none."""
    words: str
    """The docstring below it as one line; empty where there is none."""


def one_line(docstring: str | None) -> str:
    """Return a docstring's paragraphs as one line of Markdown."""
    return " ".join((docstring or "").split())


def class_words(cls: type) -> str:
    """Return the docstring of a class, as one line."""
    return one_line(inspect.cleandoc(cls.__doc__ or ""))


def attributes(cls: type) -> Iterator[Attribute]:
    """Yield the annotated or assigned attributes of a class, those of its bases of ours first."""
    ours = [base for base in cls.__mro__ if base.__module__.startswith("jobledger.")]
    found = {one.name: one for base in reversed(ours) for one in _attributes_in(base)}
    yield from found.values()


def _attributes_in(cls: type) -> Iterator[Attribute]:
    """Yield what the source of a class itself says, in its order."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    definition = tree.body[0]
    assert isinstance(definition, ast.ClassDef), "the source of a class is a class"  # noqa: S101 our own bug
    body = definition.body
    for node, after in zip(body, [*body[1:], ast.Pass()], strict=True):
        words = _docstring(after)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            default = ast.unparse(node.value) if node.value is not None else ""
            yield Attribute(node.target.id, ast.unparse(node.annotation), default, words)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield Attribute(node.targets[0].id, "", ast.unparse(node.value), words)


def _docstring(node: ast.stmt) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return one_line(str(node.value.value))
    return ""


def cell(text: str) -> str:
    """Return a text that can stand in a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def code(text: str) -> str:
    """Return a text in code style, or nothing for nothing."""
    return f"`{cell(text)}`" if text else ""
