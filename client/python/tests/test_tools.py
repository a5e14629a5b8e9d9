"""Tests of what goes through the program: no other package is needed. CONFETTI_CLOSED names the folder of a trial whose collection is closed."""

import gc
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import confetti
from confetti import _program


class Case(unittest.TestCase):
    def setUp(self) -> None:
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.dir = Path(kept.name)
        (self.dir / "tmp").mkdir()
        for patch in (mock.patch.dict(os.environ, {"TMPDIR": str(self.dir / "tmp"), "XDG_DATA_HOME": str(self.dir / "data")}), mock.patch.object(tempfile, "tempdir", None)):
            patch.start()
            self.addCleanup(patch.stop)

    def refused(self, code: str, says: str, do, *args, **named) -> None:
        with self.assertRaises(confetti.ConfettiError) as caught:
            do(*args, **named)
        self.assertEqual(caught.exception.code, code)
        self.assertIn(says, str(caught.exception))

    def left(self) -> list:
        gc.collect()
        return os.listdir(self.dir / "tmp")


class TestRelease(Case):
    def setUp(self) -> None:
        super().setUp()
        with open(self.dir / "guests.csv", "w") as f:
            f.write("drink\n" + "tea\n" * 50 + "mate\n" * 30)
        subprocess.run([_program.program(), "release", "make", "guests.csv", "--column", "drink", "--values", "tea,mate", "--people", "guests", "--as-of", "today", "--epsilon", "1", "--out", "counts"], cwd=self.dir, check=True, capture_output=True)
        self.folder = self.dir / "counts"
        self.release = confetti.Release.load(self.folder)

    def test_its_counts_and_guarantees(self) -> None:
        self.assertEqual(confetti.Release.load(self.folder / "release.json"), self.release)
        counts = {c["value"]: c for c in self.release.counts}
        self.assertEqual(set(counts), {"tea", "mate", "others"})
        for c in (counts["tea"], counts["mate"]):
            self.assertTrue(c["low_all"] <= c["low"] <= c["estimate"] <= c["high"] <= c["high_all"], c)
        held, reader = self.release.guarantees
        self.assertEqual((held.observer, held.epsilon), ("holder of the table", float("inf")))
        self.assertTrue(0.9 < reader.epsilon <= 1 and reader.adjacency == "replacement" and reader.delta == 1e-7, reader)
        self.assertIn("<svg", self.release._repr_html_() or "")

    def test_it_is_verified_or_refused(self) -> None:
        report = self.release.verify()
        self.assertFalse(report.expected)
        self.assertIn("signature", report.unchecked)
        self.assertTrue(self.release.verify(plan=self.release.plan).expected)
        self.refused("does-not-hold", "plan", self.release.verify, plan="0" * 64)
        self.refused("usage", "--plan", self.release.verify, plan="mine")
        path = self.folder / "counts.csv"
        path.write_text(path.read_text().replace("tea,5", "tea,6").replace("tea,4", "tea,6"))
        self.refused("does-not-hold", "answers", self.release.verify)

    def test_what_is_no_release_is_named(self) -> None:
        load = confetti.Release.load
        self.refused("no-release", "no release.json", load, self.dir)
        self.refused("usage", "https://", load, "http://analyzer.example/v1/releases/" + "0" * 64)
        self.refused("usage", "for a folder", load, self.folder, into=self.dir / "elsewhere")
        self.refused("usage", "is no release's address", load, "https://analyzer.example/releases/mine")
        self.refused("failed", "127.0.0.1:1", load, "https://127.0.0.1:1/v1/releases/" + "0" * 64)
        self.assertEqual(self.left(), [])
        path = self.folder / "counts.csv"
        path.write_text("attribute,crowd,value,estimate\ndrink,,tea,many\n")
        self.refused("damaged", "counts.csv", lambda: self.release.counts)
        path.unlink()
        self.refused("no-counts", "release.html", lambda: self.release.counts)
        for text, says in (("{", "no release"), ("[]", "no release"), (json.dumps({**self.release.data, "schema": 4}), "form 4")):
            (self.folder / "release.json").write_text(text)
            self.refused("damaged", says, load, self.folder)

    def test_without_pandas(self) -> None:
        with mock.patch.dict("sys.modules", {"pandas": None}):
            self.refused("no-pandas", "pip install pandas", self.release.to_pandas)


class TestTools(Case):
    def test_a_simulation_is_the_same_by_its_seed(self) -> None:
        table = {"drink": ["tea"] * 700 + ["mate, cold"] * 300}
        made = confetti.simulate(table, "drink", epsilon=1, seed=7)
        self.assertEqual({c["value"]: c["truth"] for c in made.counts}, {"tea": 700, "mate, cold": 300})
        self.assertTrue(0.9 < made.epsilon <= 1 < made.local_epsilon and made.rmse > 0)
        path = self.dir / "table.csv"
        path.write_text("drink\n" + "".join(f'"{v}"\n' for v in table["drink"]))
        self.assertEqual(confetti.simulate(path, "drink", epsilon=1, seed=7).counts, made.counts)
        self.assertNotEqual(confetti.simulate(path, "drink", epsilon=1, seed=8).counts, made.counts)
        self.assertEqual(confetti.simulate(path, "drink", local_epsilon=3, epsilon=1).local_epsilon <= 3, True)
        folder = made.folder
        self.assertTrue(folder.exists())
        del made
        self.assertEqual(self.left(), [])

    def test_bad_arguments_are_named(self) -> None:
        for says, named in (("--epsilon is -1", {"epsilon": -1}), ("epsilon is nan", {"epsilon": float("nan")}), ("unknown flag --colour", {"epsilon": 1, "colour": "red"})):
            self.refused("usage", says, confetti.simulate, {"drink": ["tea", "mate"] * 50}, "drink", **named)
        self.refused("usage", "no column 'food': it has drink", confetti.simulate, {"drink": ["tea"]}, "food", epsilon=1)
        self.refused("failed", "nowhere.csv", confetti.simulate, "nowhere.csv", "drink", epsilon=1)
        self.refused("usage", "give one of", confetti.account, "coin")
        self.refused("usage", "--minimum", confetti.advise, users=0, values=3, epsilon=1)
        self.assertEqual(self.left(), [])

    def test_advice_is_a_plan(self) -> None:
        few, many = (confetti.advise(users=2000, values=v, epsilon=1) for v in (["tea", "mate"], 100))
        for a, n in ((few, 2), (many, 100)):
            self.assertTrue(0.9 < a.epsilon <= 1 < a.local_epsilon < float("inf") and "errs by" in a.compared["answers"], a)
            asked = a.plan["question"]["histogram"]["attributes"][0]
            self.assertEqual(len(asked.get("values", ())) or asked["size"], n)
        self.assertEqual(self.left(), [])

    def test_an_account_is_of_each_observer(self) -> None:
        views = {v.observer: v for v in confetti.account("rr", users=2000, flip_probability=0.2, delta=1e-6)}
        # ln(.8/.2) is what one answer tells, by randomized response (Warner 1965).
        self.assertAlmostEqual(views["everyone colludes"].epsilon, 1.3862943611, places=6)
        self.assertLess(views["shuffler honest"].epsilon, 0.2)

    def test_a_program_that_is_missing_or_another_is_named(self) -> None:
        with mock.patch.object(_program.metadata, "files", side_effect=_program.metadata.PackageNotFoundError):
            with mock.patch.dict(os.environ, {"PATH": str(self.dir)}):
                self.refused("no-program", "install the wheel", confetti.account, "rr")
                path = self.dir / "confetti"
                path.write_text("#!/bin/sh\necho hello\n")
                path.chmod(0o700)
                self.refused("failed", "printed no JSON", confetti.account, "rr")
                path.write_text("no program")
                self.refused("no-program", "does not start", confetti.account, "rr")


@unittest.skipUnless(os.environ.get("CONFETTI_CLOSED"), "no trial that is closed")
class TestTrial(Case):
    def test_a_release_by_its_address(self) -> None:
        trial = Path(os.environ["CONFETTI_CLOSED"])
        app = json.loads((trial / "app.json").read_text())
        name = app["plan"].rpartition("/")[2]
        analyzer = _program.run("plan", "show", str(trial / "plan.signed.json"))["analyzer"]["url"]
        address, roots = f"{analyzer}/v1/releases/{name}", str(trial / "authority.crt")
        release = confetti.Release.load(address, roots=roots)
        self.assertTrue(release.verify(app["publishers"]).expected)
        self.assertTrue(release.verify(app["publishers"][0], plan=name).expected)
        other = subprocess.run([_program.program(), "keys", "new", str(self.dir / "other.json"), "--for", "publisher"], check=True, capture_output=True, text=True).stdout.split()[-1]
        self.refused("does-not-hold", "publisher", release.verify, [other])
        self.assertGreater(sum(c["consistent"] for c in release.counts), 0)
        self.refused("failed", "certificate", confetti.Release.load, address)
        kept = confetti.Release.load(address, roots=roots, into=self.dir / "kept")
        self.assertEqual((kept.data, kept.folder), (release.data, self.dir / "kept"))
        del release
        self.assertEqual(self.left(), [])


if __name__ == "__main__":
    unittest.main()
