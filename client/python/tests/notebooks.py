"""Runs notebooks in the folder where this is run, and compares what they print with what is kept in them.

Pictures are not compared, but there is one in each. With --update what was printed is kept: notebooks.py [--update] FILE...
"""

import difflib
import sys
from typing import Any

import nbformat
from nbclient import NotebookClient


def outputs(book: Any) -> list[str]:
    """Return the lines that a notebook prints."""
    lines = []
    for cell in book.cells:
        for out in cell.get("outputs", ()):
            text = out.text if out.output_type == "stream" else out.data.get("text/plain", "")
            lines += [f"{cell.id}: {line}" for line in text.splitlines() if not line.startswith(("<", "Simulation(", "Release("))]
    return lines


def pictures(book: Any) -> int:
    """Count a notebook's pictures."""
    return sum("<svg" in text for cell in book.cells for out in cell.get("outputs", ()) for kind, text in out.get("data", {}).items() if kind in ("text/html", "image/svg+xml"))


def run(path: str, update: bool) -> list[str]:
    """Run a notebook, and return what is wrong with it."""
    kept = nbformat.read(path, 4)
    book = nbformat.read(path, 4)
    NotebookClient(book, timeout=300, kernel_name="python3", record_timing=False).execute()
    book.metadata = kept.metadata
    if update:
        nbformat.write(book, path)
        return []
    wrong = list(difflib.unified_diff(outputs(kept), outputs(book), "kept", "printed", lineterm="", n=0))
    if not pictures(kept) or not pictures(book):
        wrong.append("it has no picture")
    return wrong


if __name__ == "__main__":
    update = sys.argv[1:2] == ["--update"]
    failed = False
    for path in sys.argv[1 + update :]:
        for line in run(path, update):
            print(f"{path}: {line}")
            failed = True
    sys.exit(failed)
