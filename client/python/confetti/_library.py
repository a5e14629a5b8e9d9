"""Calls the C library that the wheel of some platforms brings: docs/embedding.md has its codes."""

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any, Mapping, Optional, Union

from ._errors import Code, ConfettiError

Path_ = Union[str, "os.PathLike[str]"]

_text, _number = ctypes.c_char_p, ctypes.c_uint64

# What each function takes. It answers with a pointer that is given back: as c_char_p it would be a copy.
_functions = {
    "version": [],
    "consent": [_text, ctypes.c_int],
    "open": [_text, _text, _number],
    "report": [_number, _text, _number],
    "answer": [_number, _text],
    "deliver": [_number, _number],
    "ledger": [_text],
    "metrics_open": [_text, _text],
    "metrics_consent": [_number, ctypes.c_int],
    "metrics_new": [_number],
    "metrics_record": [_number, _text, _text],
    "metrics_arm": [_number, _text],
    "metrics_step": [_number, _number],
    "metrics_show": [_number],
}

# The version of the interface that this package is written against.
_abi = 1

_loading = threading.Lock()
_loaded: Optional[ctypes.CDLL] = None


def _library() -> ctypes.CDLL:
    """Load the library, once."""
    global _loaded
    with _loading:
        if _loaded is not None:
            return _loaded
        path = Path(__file__).parent / "lib" / "libconfetti.so"
        if not path.exists():
            raise ConfettiError("no-library", f"a device needs the C library, which the wheel for {sys.platform} lacks: releases, simulations and advice work without it")
        try:
            lib = ctypes.CDLL(os.fspath(path))
        except OSError as e:
            raise ConfettiError("no-library", f"the C library does not load here: {e}") from e
        for name, takes in _functions.items():
            f = getattr(lib, "confetti_" + name)
            f.argtypes, f.restype = takes, ctypes.c_void_p
        for name, takes, gives in (("free", [ctypes.c_void_p], None), ("close", [_number], None), ("metrics_close", [_number], None), ("call", [ctypes.c_double], _number), ("cancel", [_number], None)):
            f = getattr(lib, "confetti_" + name)
            f.argtypes, f.restype = takes, gives
        about = _ask(lib, "version")
        if about["abi"] != _abi:
            raise ConfettiError("no-library", f"{path} has version {about['abi']} of its interface, and this package takes {_abi}: install the wheel again")
        _loaded = lib
        return lib


def _ask(lib: ctypes.CDLL, name: str, *args: Any) -> Any:
    pointer = getattr(lib, "confetti_" + name)(*args)
    try:
        answer = json.loads(ctypes.string_at(pointer))
    finally:
        lib.confetti_free(pointer)
    if "error" in answer:
        raise ConfettiError(answer["error"]["code"], answer["error"]["message"])
    return answer["ok"]


def ask(name: str, *args: Union[int, bytes]) -> Any:
    """Call a function of the library, and return what it answers. Its error becomes one of Python, with its code."""
    return _ask(_library(), name, *args)


def ask_within(seconds: float, name: str, *args: Union[int, bytes]) -> Any:
    """Call a function that waits for the network, for so long at most; 0: without a limit."""
    lib = _library()
    call = lib.confetti_call(seconds)
    try:
        return _ask(lib, name, *args, call)
    finally:
        lib.confetti_cancel(call)


def tell(name: str, number: int) -> None:
    """Call a function that answers nothing."""
    getattr(_library(), "confetti_" + name)(number)


def place(folder: Path_) -> bytes:
    """Return a folder as C takes it."""
    path = os.fsencode(folder)
    if b"\0" in path:
        raise ConfettiError("bad-options", "the folder has a zero byte in its name")
    return path


def text(value: Mapping[str, Any], code: Code = "bad-options") -> bytes:
    """Return options or answers as C takes them: what is None is left out."""
    try:
        return json.dumps({k: v for k, v in value.items() if v is not None}, allow_nan=False).encode()
    except (TypeError, ValueError) as e:
        raise ConfettiError(code, f"this is no text, number or list of them: {e}") from e
