"""Small mistakes: every single change to a file of `core/` that the tests ought to notice.

A mutant is one change to the syntax tree. Docstrings, annotations, decorators and the words of
errors are left alone: no rule stands in them.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
    ast.LShift: ast.RShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
NAMES: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}
LEFT_ALONE: Final = {"annotation", "returns", "decorator_list", "type_comment", "bases", "keywords"}
"""Fields of the tree without rules; keywords of a call are a case of their own."""
EVERYWHERE_THE_SAME: Final = {"__all__", "TYPE_CHECKING"}

Put = Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class Place:
    """One node, and how another is put there."""

    node: ast.AST
    put: Put
    function: str
    """Qualified name of the outermost function around it; empty: it is computed at import."""
    function_line: int


@dataclass(frozen=True, slots=True)
class Change:
    """One mistake that can be made in a tree."""

    place: Place
    before: str
    after: str
    make: Callable[[], None] = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One mistake in one file; `number` finds it again as long as the file is the same."""

    path: str
    number: int
    line: int
    function: str
    function_line: int
    before: str
    after: str

    @property
    def words(self) -> str:
        """Return where it is and what it changes, in a line."""
        return f"{self.path}:{self.line}: {_short(self.before)}  ->  {_short(self.after)}"


def mutants_of(path: Path, root: Path) -> list[Mutant]:
    """Return all mutants of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        Mutant(
            path=str(path.relative_to(root)),
            number=number,
            line=getattr(change.place.node, "lineno", 0),
            function=change.place.function,
            function_line=change.place.function_line,
            before=change.before,
            after=change.after,
        )
        for number, change in enumerate(changes(tree))
    ]


def mutated(source: str, number: int) -> ast.Module:
    """Return the tree of a file with the mistake of that number in it."""
    tree = ast.parse(source)
    for found, change in enumerate(changes(tree)):
        if found == number:
            change.make()
            return ast.fix_missing_locations(tree)
    raise LookupError(f"there is no mutant {number}")


def changes(tree: ast.Module) -> Iterator[Change]:
    """Yield every mistake that can be made in a tree, in the same order each time."""
    for place in list(_places(tree, _Around("", 0, inside_words=False))):
        yield from _changes_at(place)


@dataclass(frozen=True, slots=True)
class _Around:
    function: str
    line: int
    inside_words: bool
    scope: str = ""


def _places(node: ast.AST, around: _Around) -> Iterator[Place]:
    for name, value in ast.iter_fields(node):
        if name in LEFT_ALONE and not (name == "keywords" and isinstance(node, ast.Call)):
            continue
        inner = value if isinstance(value, list) else [value]
        for index, item in enumerate(inner):
            if not isinstance(item, ast.AST) or _is_left_alone(item):
                continue
            put = _putter(node, name, index if isinstance(value, list) else None)
            here = _around(item, around)
            if not (here.inside_words and isinstance(item, ast.Constant)):
                yield Place(item, put, here.function, here.line)
            yield from _places(item, here)


def _around(node: ast.AST, around: _Around) -> _Around:
    if isinstance(node, ast.ClassDef):
        scope = f"{around.scope}{node.name}."
        return _Around(around.function, around.line, around.inside_words, scope)
    if isinstance(node, ast.FunctionDef) and not around.function:
        line = min([node.lineno, *(item.lineno for item in node.decorator_list)])
        return _Around(f"{around.scope}{node.name}", line, inside_words=False)
    if isinstance(node, ast.Raise | ast.Assert):
        return _Around(around.function, around.line, inside_words=True, scope=around.scope)
    return around


def _is_left_alone(node: ast.AST) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom | ast.JoinedStr):
        return True
    if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias":
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True  # a docstring
    return isinstance(node, ast.If) and ast.unparse(node.test) in EVERYWHERE_THE_SAME


def _putter(parent: ast.AST, name: str, index: int | None) -> Put:
    def put(new: Any) -> None:  # noqa: ANN401 a node of any kind
        if index is None:
            setattr(parent, name, new)
        else:
            getattr(parent, name)[index] = new

    return put


def _changes_at(place: Place) -> Iterator[Change]:  # noqa: C901, PLR0912 a table of mistakes
    match place.node:
        case ast.Compare():
            yield from _comparisons(place, place.node)
        case ast.BoolOp(op=op):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield _with_field(place, "op", other)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield _instead(place, operand)
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in OPERATORS:
            yield _with_field(place, "op", OPERATORS[type(op)]())
        case ast.Constant():
            yield from _constants(place, place.node)
        case ast.Name(id=name) if name in NAMES:
            yield _instead(place, ast.Name(NAMES[name], ast.Load()))
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp):
                yield _with_field(place, "test", ast.UnaryOp(ast.Not(), test), test)
        case ast.Return(value=value) if value is not None and not _is_none(value):
            yield _with_field(place, "value", ast.Constant(None), place.node)
        case ast.Call(keywords=keywords):
            yield from _without_each(place, "keywords", keywords)
        case ast.Tuple(elts=items, ctx=ast.Load()) if _is_a_series(items):
            yield from _without_each(place, "elts", items)
        case ast.List(elts=items, ctx=ast.Load()):
            yield from _without_each(place, "elts", items)
        case ast.Set(elts=items) if len(items) > 1:
            yield from _without_each(place, "elts", items)
        case ast.match_case(guard=guard) if guard is not None:
            yield _with_field(place, "guard", ast.UnaryOp(ast.Not(), guard), guard)
        case ast.Break() | ast.Continue():
            other_end = ast.Continue() if isinstance(place.node, ast.Break) else ast.Break()
            yield _instead(place, other_end)
        case _:
            return


def _comparisons(place: Place, node: ast.Compare) -> Iterator[Change]:
    for index, op in enumerate(node.ops):
        new = [*node.ops]
        new[index] = COMPARISONS[type(op)]()
        yield _with_field(place, "ops", new)


def _constants(place: Place, node: ast.Constant) -> Iterator[Change]:
    match node.value:
        case bool() as value:
            yield _instead(place, ast.Constant(not value))
        case int() | float() as value:
            yield _instead(place, ast.Constant(value + 1))
        case str() as value:
            yield _instead(place, ast.Constant(f"{value}XX"))
        case _:
            return


def _without_each(place: Place, name: str, items: list[Any]) -> Iterator[Change]:
    for index in range(len(items)):
        yield _with_field(place, name, items[:index] + items[index + 1 :])


def _is_a_series(items: list[ast.expr]) -> bool:
    """Return whether a tuple may be shorter; a pair that is unpacked must stay one."""
    return len(items) == 1 or any(isinstance(item, ast.Starred) for item in items)


def _instead(place: Place, new: ast.AST) -> Change:
    old = place.node
    return Change(place, ast.unparse(old), ast.unparse(new), lambda: place.put(_at(new, old)))


def _with_field(place: Place, name: str, new: Any, shown: ast.AST | None = None) -> Change:  # noqa: ANN401 a node or a list of them
    node, old = place.node, getattr(place.node, name)
    before = ast.unparse(shown or node)
    setattr(node, name, new)
    after = ast.unparse(node if shown in (None, node) else new)
    setattr(node, name, old)
    return Change(place, before, after, lambda: setattr(node, name, new))


def _at(new: ast.AST, old: ast.AST) -> ast.AST:
    return ast.copy_location(new, old) if hasattr(old, "lineno") else new


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _short(text: str, most: int = 110) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"
