"""Private statistics: what an analyst does with releases, and a device that answers plans."""

from ._errors import ConfettiError
from ._release import Finding, Release, Report, Statement
from ._tools import Advice, Simulation, View, account, advise, simulate

__all__ = ["Advice", "ConfettiError", "Finding", "Release", "Report", "Simulation", "Statement", "View", "account", "advise", "simulate"]
