from __future__ import annotations

import csv
import json
import os
import shutil
import tempfile
import weakref
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, Union

from ._errors import ConfettiError
from ._program import run

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Statement:
    """What holds for one observer. An infinite epsilon is no protection."""

    observer: str
    epsilon: float
    delta: float
    adjacency: str
    trust: str
    users: int
    rounds: int
    bound: str


@dataclass(frozen=True)
class Finding:
    """One check of a release, and what it says."""

    what: str
    holds: bool
    says: str


@dataclass(frozen=True)
class Report:
    """What was checked of a release, all of which holds, and what no check can show."""

    expected: bool  # somebody was named whose plan it is: without that it holds for whoever made it
    findings: Sequence[Finding]
    unchecked: Mapping[str, str]
    shows: str


Value = Union[str, float]


@dataclass(frozen=True)
class Release:
    """A release, as an analyzer published it: a folder of files."""

    folder: Path
    data: Mapping[str, Any] = field(repr=False)

    @classmethod
    def load(cls, source: Union[str, "os.PathLike[str]"], *, into: Union[None, str, "os.PathLike[str]"] = None, roots: Optional[str] = None) -> "Release":
        """Read a release from its folder, or fetch it from its address, https://ANALYZER/v1/releases/PLAN.

        What is fetched is kept in the folder into; without one it goes when the release is forgotten.
        """
        name = os.fspath(source)
        if "://" in name:
            if not name.startswith("https://"):
                raise ConfettiError("usage", f"{name} is no address of a release: one begins with https://")
            to = Path(tempfile.mkdtemp(prefix="confetti-release-") if into is None else into)
            try:
                run("release", "fetch", name, f"--out={to}", *([f"--roots={roots}"] if roots else []))
                fetched = cls(to, _read(to))
            except BaseException:
                if into is None:
                    shutil.rmtree(to)
                raise
            if into is None:
                weakref.finalize(fetched, shutil.rmtree, to)
            return fetched
        if into is not None or roots is not None:
            raise ConfettiError("usage", "into and roots are of an address: leave them out for a folder")
        path = Path(name).absolute()
        if path.name == "release.json":
            path = path.parent
        return cls(path, _read(path))

    @property
    def plan(self) -> str:
        """Its plan's name."""
        return str(self.data["plan"])

    @property
    def guarantees(self) -> Sequence[Statement]:
        """What holds for whom, as it stands in the release: verify recomputes it."""
        return [Statement(**{**g, "epsilon": float(g["epsilon"])}) for g in self.data["guarantees"]]

    @property
    def counts(self) -> Sequence[Mapping[str, Value]]:
        """The counts: one a value, with its estimate and its intervals."""
        try:
            with open(self.folder / "counts.csv", newline="", encoding="utf-8") as f:
                return [{k: v if k in ("attribute", "crowd", "value") else float(v) for k, v in row.items()} for row in csv.DictReader(f)]
        except FileNotFoundError:
            raise ConfettiError("no-counts", f"there is no counts.csv in {self.folder}: this release has no counts of values; see {self.folder / 'release.html'}") from None
        except (TypeError, ValueError) as e:
            raise ConfettiError("damaged", f"{self.folder / 'counts.csv'} is no table of counts: get the release again") from e

    def to_pandas(self) -> "pandas.DataFrame":
        """Return the counts as a table: a row a value. Its attrs have the plan's name and the guarantees."""
        try:
            import pandas
        except ImportError as e:
            raise ConfettiError("no-pandas", "to_pandas takes pandas, which is not installed: pip install pandas, or use counts") from e
        table = pandas.DataFrame(self.counts)
        table.attrs["plan"], table.attrs["guarantees"] = self.plan, [vars(g) for g in self.guarantees]
        return table

    def verify(self, publishers: Optional[Sequence[str]] = None, *, plan: Optional[str] = None, log: Optional[str] = None) -> Report:
        """Recompute its promise, and check signatures and receipts. Raises "does-not-hold" where something does not.

        Give the publishers whose plan you expect, or the plan's name, from elsewhere than the release.
        """
        if isinstance(publishers, str):
            publishers = [publishers]
        args = [f"--publisher={p}" for p in publishers or ()]
        args += [f"--{name}={v}" for name, v in (("plan", plan), ("log", log)) if v is not None]
        told = run("release", "verify", str(self.folder), *args, passes=(0, 1, 3))
        findings = [Finding(f["what"], f["holds"], f["says"]) for f in told["findings"]]
        if not told["holds"]:
            raise ConfettiError("does-not-hold", "; ".join(f"{f.what}: {f.says}" for f in findings if not f.holds))
        return Report(bool(told["expected"]), findings, {u["what"]: u["why"] for u in told.get("unchecked") or []}, told["shows"])

    def _repr_html_(self) -> Optional[str]:
        """Return its picture, which notebooks show."""
        for path in sorted(self.folder.glob("*.svg")):
            return path.read_text("utf-8")
        return None


def _read(folder: Path) -> Any:
    path = folder / "release.json"
    try:
        data = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ConfettiError("no-release", f"there is no release.json in {folder}: name the folder that confetti release fetch wrote, or the release's address") from None
    except ValueError as e:
        raise ConfettiError("damaged", f"{path} is no release: get it again") from e
    if not isinstance(data, dict) or not {"schema", "plan", "guarantees"} <= data.keys():
        raise ConfettiError("damaged", f"{path} is no release: get it again")
    if data["schema"] != 3:
        raise ConfettiError("damaged", f"{path} has form {data['schema']}, and this package reads 3: take a package of the same version")
    return data
