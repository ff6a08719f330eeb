"""Takes YAML apart into tokens as Go does, where that is otherwise than PyYAML's way.

A tab in a text and after a tag is as good as a space, and none may be part of an indentation. An
unknown directive is refused.

Source: scannerc.go of go.yaml.in/yaml/v2, which KubeRay uses.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import yaml
from yaml.scanner import ScannerError

_BLANKS, _BREAKS = " \t", "\r\n\x85\u2028\u2029"
_MARKS = ("---", "...")
_DIRECTIVES = ("YAML", "TAG")


class GoScanner(yaml.SafeLoader):
    """A reader of YAML to which tabs and directives are what they are to Go."""

    def scan_to_next_token(self) -> None:
        """Go to the next token; tabs between tokens count as spaces."""
        super().scan_to_next_token()
        while self.peek() == "\t" and (self.flow_level or not self.allow_simple_key):
            self.forward()
            super().scan_to_next_token()

    def scan_plain_spaces(self, indent: int, start_mark: yaml.Mark) -> list[str] | None:
        """Return what is between two words of a plain scalar; None if a document ends there."""
        blanks = self._blanks()
        if self.peek() not in _BREAKS:
            return [blanks] if blanks else []
        breaks = [self._break()]
        self.allow_simple_key = True
        while not self._is_at_document():
            if self.peek() in _BLANKS:
                if self.peek() == "\t" and self.column < indent:
                    self._refuse_tab("while scanning a plain scalar", start_mark)
                self.forward()
            elif self.peek() in _BREAKS:
                breaks.append(self._break())
            else:
                first, *others = breaks
                return [*([first] if first != "\n" else []), *(others or [" "] * (first == "\n"))]
        return None

    def scan_block_scalar_indentation(self) -> tuple[list[str], int, yaml.Mark]:
        """Return the first breaks of a block of text and how far it is indented."""
        found: tuple[list[str], int, yaml.Mark] = super().scan_block_scalar_indentation()
        if self.peek() == "\t":
            self._refuse_tab("while scanning a block scalar", self.get_mark())
        return found

    def scan_block_scalar_breaks(self, indent: int) -> tuple[list[str], yaml.Mark]:
        """Return the breaks before the next line of a block of text."""
        found: tuple[list[str], yaml.Mark] = super().scan_block_scalar_breaks(indent)
        if self.peek() == "\t" and self.column < indent:
            self._refuse_tab("while scanning a block scalar", self.get_mark())
        return found

    def scan_block_scalar_indicators(self, start_mark: yaml.Mark) -> Any:  # noqa: ANN401 no type
        """Return the marks of a block of text after the first, which a tab may follow."""
        with self._tabs_as_spaces():
            return super().scan_block_scalar_indicators(start_mark)

    def scan_block_scalar_ignored_line(self, start_mark: yaml.Mark) -> None:
        """Go to the line after the mark of a block of text."""
        self._blanks()
        super().scan_block_scalar_ignored_line(start_mark)

    def scan_tag(self) -> Any:  # noqa: ANN401 no type
        """Return a tag, which a tab ends as well."""
        with self._tabs_as_spaces():
            return super().scan_tag()

    def scan_directive(self) -> Any:  # noqa: ANN401 no type
        """Return a directive, whose parts tabs may part; there are two, and no others."""
        start = self.get_mark()
        with self._tabs_as_spaces():
            found = super().scan_directive()
        if found.name not in _DIRECTIVES:
            raise ScannerError("while scanning a directive", start, "an unknown directive", start)
        return found

    @contextmanager
    def _tabs_as_spaces(self) -> Iterator[None]:
        """Let whoever looks at the next character see a space for a tab.

        Only for a while: every character of a text is looked at, and this makes it dearer.
        """
        seen = super().peek
        self.peek = lambda index=0: " " if seen(index) == "\t" else seen(index)  # type: ignore[method-assign]
        try:
            yield
        finally:
            del self.peek

    def _blanks(self) -> str:
        length = 0
        while self.peek(length) in _BLANKS:
            length += 1
        blanks: str = self.prefix(length)
        self.forward(length)
        return blanks

    def _break(self) -> str:
        found: str = self.scan_line_break()  # type: ignore[no-untyped-call]
        return found

    def _is_at_document(self) -> bool:
        """Return whether a mark of the beginning or end of a document is next."""
        return (
            self.column == 0
            and self.prefix(3) in _MARKS
            and self.peek(3) in f"\0{_BLANKS}{_BREAKS}"
        )

    def _refuse_tab(self, doing: str, since: yaml.Mark) -> None:
        raise ScannerError(doing, since, "a tab in an indentation", self.get_mark())
