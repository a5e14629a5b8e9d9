"""Private statistics: what an analyst does with releases, and a device that answers plans."""

from ._device import Charge, Device, Field, Outcome, Store, open, version
from ._errors import Code, ConfettiError
from ._release import Finding, Release, Report, Statement
from ._tools import Advice, Simulation, View, account, advise, simulate

__all__ = [
    "Advice",
    "Charge",
    "Code",
    "ConfettiError",
    "Device",
    "Field",
    "Finding",
    "Outcome",
    "Release",
    "Report",
    "Simulation",
    "Statement",
    "Store",
    "View",
    "account",
    "advise",
    "open",
    "simulate",
    "version",
]
