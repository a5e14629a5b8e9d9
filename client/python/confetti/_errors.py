from __future__ import annotations

from typing import Literal

# What went wrong: first the codes of a device, which are those of every language, and then those of this package alone.
Code = Literal[
    "bad-options",
    "bad-answers",
    "not-opted-in",
    "not-allowed",
    "off",
    "answered",
    "not-open",
    "closed",
    "other-round",
    "spent",
    "dropped",
    "publisher",
    "promise",
    "unreachable",
    "certificate",
    "origin",
    "credential",
    "full",
    "delay",
    "refused",
    "nothing-kept",
    "cancelled",
    "ended",
    "forked",
    "registry",
    "rolled-back",
    "other-app",
    "unknown-metric",
    "wrong-type",
    "outside-domain",
    "clock-back",
    "other-study",
    "bug",
    "failed",
    "usage",
    "does-not-hold",
    "no-release",
    "no-counts",
    "damaged",
    "no-pandas",
    "no-program",
    "no-library",
]


class ConfettiError(Exception):
    """What went wrong, with a code to branch on and a sentence that says what to do."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code: Code = code
