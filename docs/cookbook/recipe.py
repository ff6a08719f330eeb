"""What a recipe of the cookbook is."""  # noqa: INP001 run from the top of the repository, never installed

from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A question that a platform team asks, with the SQL that answers it."""

    question: str
    sql: str
    """On the documented views only; `{since}` and `{until}` stand for the bounds of the period."""
    words: str = ""
    """How the answer is to be read."""
    command: str = ""
    """The report that says the same or more, as it is typed; without the period."""
    days: int = 28
    """Length of the period that the page asks about."""

    def statement(self, since: datetime, until: datetime) -> str:
        """Return the SQL for a period: from `since` on, before `until`."""
        text = self.sql.strip("\n")
        for name, at in (("{since}", since), ("{until}", until)):
            text = text.replace(name, f"{at.astimezone(UTC):%Y-%m-%d %H:%M}Z")
        return text
