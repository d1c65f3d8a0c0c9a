"""Somebody who watches how far work is."""


class Watch:
    """Adds up what was announced and what was done."""

    def __init__(self) -> None:
        self.announced: dict[str, int] = {}
        self.done = 0

    def expect(self, what: str, total: int, *, again: int = 0) -> None:
        assert 0 <= again <= total
        self.announced[what] = total

    def __call__(self, done: int, /) -> None:
        self.done += done
