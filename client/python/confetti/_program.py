"""Runs the program confetti, which the wheel brings, for what is computed and not answered."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any, Mapping, Sequence, Union

from ._errors import ConfettiError

Flag = Union[None, bool, str, int, float, "os.PathLike[str]", Sequence[str]]

_name = "confetti.exe" if os.name == "nt" else "confetti"


def program() -> str:
    """Return the program's path: where this package was installed with it, or else on PATH."""
    try:
        files = metadata.files("confetti-dp") or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == _name and os.access(file.locate(), os.X_OK):
            return os.fspath(Path(os.fspath(file.locate())).resolve())
    found = shutil.which(_name)
    if not found:
        raise ConfettiError("no-program", f"there is no {_name} beside this package nor on PATH: install the wheel of this platform")
    return found


def run(*args: str, passes: Sequence[int] = (0,)) -> Any:
    """Return what a command of the program prints as JSON. Its error becomes one of Python, with the same words."""
    line = [program(), *args, "--json"]
    try:
        done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8")
    except OSError as e:
        raise ConfettiError("no-program", f"{line[0]} does not start: {e.strerror}") from e
    if done.returncode not in passes:
        said = done.stderr.strip().splitlines()
        told = "\n".join(s for s in said if not s.startswith("note: ")) or f"confetti {args[0]} ended with {done.returncode}"
        raise ConfettiError("usage" if done.returncode == 2 else "failed", told.removeprefix("confetti: "))
    try:
        return json.loads(done.stdout)
    except ValueError as e:
        raise ConfettiError("failed", f"confetti {' '.join(args[:2])} printed no JSON: is {line[0]} of another version?") from e


def flags(named: Mapping[str, Flag]) -> list[str]:
    """Return arguments of the program: local_epsilon=4 is --local-epsilon=4, and what is None or False is left out."""
    out = []
    for name, v in named.items():
        if v is None or v is False:
            continue
        flag = "--" + name.replace("_", "-")
        if v is True:
            out.append(flag)
            continue
        if isinstance(v, float) and not math.isfinite(v):
            raise ConfettiError("usage", f"{name} is {v}: give a finite number")
        if isinstance(v, (str, int, float, os.PathLike)):
            out.append(f"{flag}={os.fspath(v) if isinstance(v, os.PathLike) else v}")
            continue
        out += [f"{flag}={one}" for one in v]
    return out
