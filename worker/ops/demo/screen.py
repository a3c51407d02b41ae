"""What the demo prints: numbered steps, small tables, and claims that were checked."""

import textwrap
from datetime import datetime, timezone

WIDTH = 80


class Failed(Exception):
    """Something that the demo claims is not so."""


class Screen:
    def __init__(self):
        self.steps = self.checks = 0
        self.blank = False

    def lines(self, *lines):
        """An empty line is left out after another one."""
        for line in lines:
            if line or not self.blank:
                print(line, flush=True)
            self.blank = not line

    def step(self, title, why):
        self.steps += 1
        self.lines("", f"{self.steps}. {title}")
        self.say(why)

    def say(self, text, first="   ", rest="   "):
        self.lines(*textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False))

    def table(self, heading, rows):
        """Columns of numbers to the right; the last column is folded where it is too long."""
        cells = [[str(cell) for cell in row] for row in (heading, *rows)]
        widths = [max(map(len, column)) for column in zip(*cells)]
        before_last = 5 + sum(width + 2 for width in widths[:-1])
        widths[-1] = min(widths[-1], WIDTH - before_last)
        to_right = [all(isinstance(row[i], int) for row in rows) for i in range(len(heading))]
        self.lines("")
        for row in cells:
            row[-1], *more = textwrap.wrap(row[-1], widths[-1]) or [""]
            columns = zip(row, widths, to_right)
            words = [cell.rjust(width) if right else cell.ljust(width) for cell, width, right in columns]
            self.lines(("     " + "  ".join(words)).rstrip(), *(" " * before_last + text for text in more))
        self.lines("")

    def check(self, claim, found, expected=True):
        """Says the claim, where what was found bears it out."""
        if found != expected:
            raise Failed(f"not so: {claim}\nexpected: {expected!r}\nfound:    {found!r}")
        self.checks += 1
        self.say(claim, "   ok: ", "       ")


def due(entry):
    """When an entry is due, for people."""
    left = round((datetime.fromisoformat(entry["due_utc"]) - datetime.now(timezone.utc)).total_seconds())
    if left <= 0:
        return "now"
    return f"in {left // 60} min {left % 60} s" if left >= 60 else f"in {left} s"
