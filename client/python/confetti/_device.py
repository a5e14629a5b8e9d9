from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, Mapping, Optional, Sequence, Type, Union

from . import _library

Answer = Union[str, float, Sequence[Union[str, float]]]


def version() -> Mapping[str, Any]:
    """Return the version of the C library, of its interface and of Go."""
    told: Mapping[str, Any] = _library.ask("version")
    return told


@dataclass(frozen=True)
class Charge:
    """What an answer costs its person."""

    epsilon: float
    delta: float
    local: float  # though everyone colludes; below 0: no limit


@dataclass(frozen=True)
class Field:
    """What a plan asks by a name."""

    name: str
    crowd: bool  # what is said under it is seen by the network
    list: bool


@dataclass(frozen=True)
class Outcome:
    """What became of an answer: sent or delivered, unfit (the plan has no room for it), or waiting in the store until next."""

    status: str
    parts: int = 0
    next: Optional[datetime] = None
    why: Optional[str] = None
    code: Optional[str] = None
    fits: Optional[bool] = None  # whether the plan had room for it; None: not known
    said: str = ""  # what the device said, as its ledger has it


@dataclass(frozen=True)
class Store:
    """A person's own folder: what was agreed to, spent and said. Keep it out of backups."""

    folder: Union[str, "os.PathLike[str]"]

    def consent(self, agreed: bool) -> None:
        """Write down what the person has said. False destroys what waits; what was spent stays."""
        _library.ask("consent", _library.place(self.folder), int(agreed))

    def ledger(self) -> Mapping[str, Any]:
        """Return all that was agreed to, spent and said."""
        told: Mapping[str, Any] = _library.ask("ledger", _library.place(self.folder))
        return told

    def words(self) -> str:
        """Return the ledger in words, for the person."""
        return str(self.ledger()["words"])


class Device:
    """A device that answers one plan, and a context manager that closes it."""

    def __init__(self, asked: Mapping[str, Any]) -> None:
        self._number: int = asked["device"]
        self.plan: str = asked["plan"]
        self.title: str = asked["title"]
        self.publisher: str = asked["publisher"]
        self.question: Mapping[str, Any] = asked["question"]
        self.charge = Charge(asked["charge"]["epsilon"], asked["charge"]["delta"], asked["charge"]["local"])
        self.fields: Sequence[Field] = [Field(f["name"], f["crowd"], f["list"]) for f in asked["fields"]]
        self.opens: Optional[datetime] = _time(asked.get("opens"))
        self.closes: Optional[datetime] = _time(asked.get("closes"))

    def report(self, answers: Optional[Mapping[str, Answer]] = None, *, timeout: float = 30.0, **named: Answer) -> Outcome:
        """Answer by name, once a plan, and send the answer if it can go now. A wrong bearer costs nothing."""
        return _outcome(_library.ask_within(timeout, "report", self._number, _answers(answers, named)))

    def answer(self, answers: Optional[Mapping[str, Answer]] = None, **named: Answer) -> Outcome:
        """Draw the answer and write it down, without a network: it waits for deliver."""
        return _outcome(_library.ask("answer", self._number, _answers(answers, named)))

    def deliver(self, *, timeout: float = 30.0) -> Outcome:
        """Send what waits and is due."""
        return _outcome(_library.ask_within(timeout, "deliver", self._number))

    def close(self) -> None:
        """Give connections back. What waits stays in the store."""
        _library.tell("close", self._number)

    def __enter__(self) -> "Device":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()


def open(plan: str, *, publishers: Sequence[str], store: Store, bearer: Optional[str] = None, roots: Optional[str] = None, delay: Optional[float] = None, wait: Optional[float] = None, caps: Optional[Mapping[str, Any]] = None, operators: Optional[Mapping[str, Sequence[str]]] = None, timeout: float = 30.0) -> Device:
    """Check a plan, by its address or its text, and prepare to answer it.

    Times are in seconds. roots is a file of certificates, or its text; without it the system's are trusted. operators are names that an instance is
    chosen by: {"deny": [...], "trust": [...], "prefer": [...]}. Which instance an answer went through is public.
    """
    options = {"plan": plan, "publishers": list(publishers), "bearer": bearer, "roots": roots, "delay": delay, "wait": wait, "caps": caps, "operators": operators, "program": "Python"}
    return Device(_library.ask_within(timeout, "open", _library.place(store.folder), _library.text(options)))


def _answers(answers: Optional[Mapping[str, Answer]], named: Mapping[str, Answer]) -> bytes:
    return _library.text({**(answers or {}), **named}, "bad-answers")


def _outcome(told: Mapping[str, Any]) -> Outcome:
    return Outcome(told["status"], told.get("parts", 0), _time(told.get("next")), told.get("why"), told.get("code"), told.get("fits"), told.get("said", ""))


def _time(said: Optional[str]) -> Optional[datetime]:
    """Return a time as Go writes it; Python takes six digits of a second at most."""
    if not said:
        return None
    day, dot, rest = said.replace("Z", "+00:00").partition(".")
    if dot:
        digits = len(rest) - len(rest.lstrip("0123456789"))
        day += "." + rest[:digits][:6].ljust(6, "0") + rest[digits:]
    return datetime.fromisoformat(day)
