from __future__ import annotations

import csv
import os
import shutil
import tempfile
import weakref
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, Union

from ._errors import ConfettiError
from ._program import Flag, flags, run
from ._release import Release, _read

if TYPE_CHECKING:
    import pandas

Table = Union["pandas.DataFrame", Mapping[str, Sequence[object]], str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Simulation(Release):
    """A made-up collection from one's own table. Its counts have the truth beside them: it is not to be published."""

    told: Mapping[str, Any] = field(default_factory=dict, repr=False)  # all that the program says of it

    @property
    def rmse(self) -> float:
        """By how much its counts err, root mean square."""
        return float(self.told["rmse"])

    @property
    def epsilon(self) -> float:
        """What its plan gives while the shuffler is honest, at most."""
        return float(self.told["epsilon"])

    @property
    def local_epsilon(self) -> float:
        """What is left though everyone colludes; infinite: nothing."""
        return float(self.told["epsilon_local"])


def simulate(table: Table, column: str, *, epsilon: float, delta: float = 1e-6, seed: int = 1, **more: Flag) -> Simulation:
    """Collect a column of a table from made-up devices, and return what an analyst would get.

    A table is a pandas.DataFrame, a mapping of columns, or a CSV file. The same seed gives the same numbers. Other
    flags are those of confetti collect simulate: minimum=200, local_epsilon=4, route="sum".
    """
    to = Path(tempfile.mkdtemp(prefix="confetti-simulation-"))
    try:
        path = os.fspath(table) if isinstance(table, (str, os.PathLike)) else _write(table, column, to / "table.csv")
        told = run("collect", "simulate", f"--csv={path}", f"--out={to / 'release'}", *flags({"column": column, "epsilon": epsilon, "delta": delta, "seed": seed, **more}))
        made = Simulation(to / "release", _read(to / "release"), told)
    except BaseException:
        shutil.rmtree(to)
        raise
    weakref.finalize(made, shutil.rmtree, to)
    return made


def _write(table: Any, column: str, path: Path) -> str:
    if column not in table:
        raise ConfettiError("usage", f"the table has no column {column!r}: it has {', '.join(map(str, table))}")
    with open(path, "w", newline="", encoding="utf-8") as f:
        w = csv.writer(f)
        w.writerow([column])
        w.writerows([one] for one in table[column])
    return str(path)


@dataclass(frozen=True)
class Advice:
    """The plan that errs least, and what it was compared with."""

    randomizer: str
    epsilon: float  # while one hop is honest; delta, adjacency and users stand in guarantees
    delta: float
    local_epsilon: float  # though everyone colludes; infinite: nothing
    bytes_per_device: float
    compared: Mapping[str, str]  # in words, with errors
    guarantees: Sequence[Mapping[str, Any]]
    plan: Mapping[str, Any]


def advise(*, users: int, values: Union[int, Sequence[str]], epsilon: Optional[float] = None, local_epsilon: Optional[float] = None, delta: float = 1e-6, **more: Flag) -> Advice:
    """Design a plan that counts values among users, and say what it was compared with.

    The values are named, or only their number is given. Other flags are those of confetti plan new histogram.
    """
    with tempfile.TemporaryDirectory(prefix="confetti-advice-") as dir:
        path, domain, of = Path(dir) / "plan.toml", Path(dir) / "values.txt", dict[str, Flag]()
        if isinstance(values, int):
            of["size"] = values
        else:
            of["domain"] = domain
            domain.write_text("".join(f"{v}\n" for v in values), "utf-8")
        told = run("plan", "new", "histogram", str(path), f"--keys={dir}/keys", *flags({"attribute": "answer", "minimum": users, "epsilon": epsilon, "local_epsilon": local_epsilon, "delta": delta, **of, **more}))
        plan = run("plan", "show", str(path))
    everyone = [g["guarantee"]["epsilon"] for g in told["guarantees"] if g["observer"] == "everyone colludes"]
    return Advice(
        plan["question"]["histogram"]["randomizer"]["name"], float(told["epsilon"]), float(told["delta"]),
        float(everyone[0]) if everyone else float("inf"), float(told["cost"]["bytes_per_device"]), told.get("compared", {}), told["guarantees"], plan,
    )


@dataclass(frozen=True)
class View:
    """What one observer sees of a mechanism, and what it can tell."""

    observer: str
    sees: str
    epsilon: float
    delta: float
    adjacency: str
    method: str
    posterior: float  # of a statement about one person that was believed with the prior
    meaning: str


def account(mechanism: str, *, delta: float = 1e-6, prior: float = 0.01, **parameters: Flag) -> Sequence[View]:
    """Say who can learn what from a mechanism: account("rr", users=2000, flip_probability=0.2).

    Parameters are the flags of confetti account explain.
    """
    told = run("account", "explain", *flags({"mechanism": mechanism, "delta": delta, "prior": prior, **parameters}))
    return [View(v["observer"], v["sees"], float(v["epsilon"]), float(v["delta"]), v["adjacency"], v["method"], float(v["posterior"]), v["meaning"]) for v in told["views"]]
