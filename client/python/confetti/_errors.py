from __future__ import annotations


class ConfettiError(Exception):
    """What went wrong, with a code to branch on and a sentence that says what to do."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
