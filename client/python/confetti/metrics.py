"""What an app counts: modules that confetti metrics code --python writes are made of this."""

from __future__ import annotations

import json
import os
import threading
import typing
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Callable, Generic, Mapping, Optional, TypeVar, Union

from . import _library
from ._device import _time
from ._errors import ConfettiError

V = TypeVar("V", bound=str)
A = TypeVar("A", bound=str)
O = TypeVar("O", bound=str)


@dataclass(frozen=True)
class Step:
    """When to come again. What failed is tried again then: why says it in words, and code for a program, such as clock-back."""

    next: Optional[datetime]
    why: Optional[str] = None
    code: Optional[str] = None


class App:
    """Counts what a registry lists, on one device. Before start it counts nothing."""

    def __init__(self, registry: str, publishers: typing.Sequence[str]) -> None:
        self._registry, self._publishers = registry, list(publishers)
        self._number = 0
        self._changing = threading.Lock()

    def start(self, folder: Union[str, "os.PathLike[str]"], *, bearer: Optional[str] = None, roots: Optional[str] = None, delay: Optional[float] = None, wait: Optional[float] = None, caps: Optional[Mapping[str, Any]] = None, background: bool = True) -> Callable[[], None]:
        """Count in a person's folder, and answer in the background when a period is over, until stop is called.

        Until the person has agreed nothing is kept. Where CI or CONFETTI_OFF is in the environment it does nothing.
        With background=False nothing is answered but by step.
        """
        options = {"registry": self._registry, "publishers": self._publishers, "bearer": bearer, "roots": roots, "delay": delay, "wait": wait, "caps": caps, "background": background}
        with self._changing:
            if self._number:
                raise ConfettiError("bad-options", "the app has begun: stop it first")
            self._number = _library.ask("metrics_open", _library.place(folder), _library.text(options))["metrics"]
        return self.stop

    def stop(self) -> None:
        """Keep what was counted, and count no more."""
        with self._changing:
            number, self._number = self._number, 0
        if number:
            _library.tell("metrics_close", number)

    def consent(self, agreed: bool) -> None:
        """Write down what the person has said. False destroys what is kept and what waits."""
        _library.ask("metrics_consent", self._number, int(agreed))

    def new(self) -> typing.Sequence[str]:
        """Return in words what is asked that the person has not agreed to."""
        return [str(said) for said in _library.ask("metrics_new", self._number)["new"]]

    def record(self, name: str, value: Union[int, float, str]) -> None:
        """Count by name, for scripts: it raises where the registry does not list the name, or the value does not fit."""
        try:
            said = json.dumps(value, allow_nan=False).encode()
        except (TypeError, ValueError) as e:
            raise ConfettiError("wrong-type", f"this is no number or text: {e}") from e
        _library.ask("metrics_record", self._number, name.encode(), said)

    def arm(self, name: str) -> str:
        """Return what an experiment shows on this device."""
        return str(_library.ask("metrics_arm", self._number, name.encode())["arm"])

    def step(self, *, timeout: float = 30.0) -> Step:
        """Answer what is due, and return when to come again, and what could not be said now."""
        told = _library.ask_within(timeout, "metrics_step", self._number)
        return Step(_time(told["next"]), told.get("why"), told.get("code"))

    def show(self) -> str:
        """Return in words what the device keeps, by what law it would be told, and what was said."""
        return str(_library.ask("metrics_show", self._number)["words"])


class _Metric:
    """A metric of an app. Its calls neither wait nor raise."""

    def __init__(self, app: App, name: str) -> None:
        self._app, self._name = app, name

    def _count(self, value: Union[int, float, str]) -> None:
        try:
            self._app.record(self._name, value)
        except ConfettiError:
            pass  # an app goes on


class Counter(_Metric):
    """Counts how often something happens in a period."""

    def add(self, n: int = 1) -> None:
        self._count(n)


class Category(_Metric, Generic[V]):
    """Keeps the last value of a period."""

    def set(self, value: V) -> None:
        self._count(value)


class Set(_Metric, Generic[V]):
    """Keeps which items there were in a period."""

    def add(self, item: V) -> None:
        self._count(item)


class Number(_Metric):
    """Keeps one number of a period: the last, highest or lowest."""

    def set(self, x: float) -> None:
        self._count(x)


class String(_Metric):
    """Keeps the last text of a period, of which nobody has a list."""

    def set(self, text: str) -> None:
        self._count(text)


class Sequence(_Metric, Generic[V]):
    """Keeps how far somebody came in what happens in an order."""

    def step(self, step: V) -> None:
        self._count(step)


class Experiment(_Metric, Generic[A, O]):
    """Shows one arm, drawn on the device, and keeps what happened."""

    def __init__(self, app: App, name: str, first: A) -> None:
        super().__init__(app, name)
        self._first = first

    def arm(self) -> A:
        """Return the arm to show: the first where the app has not begun."""
        try:
            return typing.cast(A, self._app.arm(self._name))
        except ConfettiError:
            return self._first

    def outcome(self, outcome: O) -> None:
        self._count(outcome)
