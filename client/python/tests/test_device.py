"""Tests of a device over the C library. CONFETTI_TRIAL names the folder of a trial that is open."""

import ctypes
import json
import os
import re
import shutil
import tempfile
import threading
import typing
import unittest
import warnings
from pathlib import Path
from unittest import mock

import confetti
from confetti import _library, metrics

root = Path(__file__).resolve().parents[3]
trial = Path(os.environ.get("CONFETTI_TRIAL", ""))


class Case(unittest.TestCase):
    def setUp(self) -> None:
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.dir = Path(kept.name)

    def refused(self, code: str, do, *args, **named) -> str:
        with self.assertRaises(confetti.ConfettiError) as caught:
            do(*args, **named)
        self.assertEqual(caught.exception.code, code, caught.exception)
        return str(caught.exception)


class TestInterface(Case):
    def test_the_header_is_called_as_it_stands(self) -> None:
        header = (root / "cmd/libconfetti/include/confetti.h").read_text()
        declared = {name: (gives, 0 if takes == "void" else takes.count(",") + 1) for gives, name, takes in re.findall(r"^(char \*|void |uint64_t )confetti_(\w+)\(([^)]*)\);", header, re.M)}
        lib = _library._library()
        self.assertEqual(set(declared), set(_library._functions) | {"free", "close", "metrics_close", "call", "cancel"})
        for name, (gives, takes) in declared.items():
            f = getattr(lib, "confetti_" + name)
            self.assertEqual(len(f.argtypes), takes, name)
            self.assertIs(f.restype, {"char *": ctypes.c_void_p, "void ": None, "uint64_t ": ctypes.c_uint64}[gives], name)

    def test_codes_are_those_of_every_language(self) -> None:
        table = re.findall(r"^\| `([a-z-]+)`", (root / "docs/embedding.md").read_text(), re.M)
        own = re.findall(r"`([a-z-]+)`", "".join(re.findall(r"^\| (`.*?) \|", (root / "docs/python.md").read_text(), re.M)))
        codes = typing.get_args(confetti.Code)
        self.assertEqual(list(codes[: len(table)]), table)
        self.assertLessEqual(set(codes[len(table) :]), set(own))

    def test_what_the_library_gives_goes_back(self) -> None:
        real, freed = _library._library(), []
        given = []

        class Counting:
            def __getattr__(self, name: str):
                f = getattr(real, name)
                if name == "confetti_free":
                    return lambda p: (freed.append(p), f(p))
                return lambda *a: given.append(f(*a)) or given[-1]

        _library._ask(Counting(), "version")
        self.refused("ended", _library._ask, Counting(), "deliver", 77, 0)
        self.assertEqual((len(freed), freed), (2, given))

    def test_a_library_that_is_missing_or_another_is_named(self) -> None:
        with mock.patch.object(_library, "_loaded", None):
            with mock.patch.object(_library, "__file__", str(self.dir / "_library.py")):
                self.assertIn("work without it", self.refused("no-library", confetti.version))
                (self.dir / "lib").mkdir()
                (self.dir / "lib" / "libconfetti.so").write_text("no library")
                self.refused("no-library", confetti.version)
            with mock.patch.object(_library, "_abi", 2):
                self.assertIn("this package takes 2", self.refused("no-library", confetti.version))
        self.assertEqual(confetti.version()["abi"], 1)


@unittest.skipUnless(trial.name, "no trial")
class TestDevice(Case):
    def setUp(self) -> None:
        super().setUp()
        self.app = {k: v for k, v in json.loads((trial / "app.json").read_text()).items() if k in ("plan", "publishers", "roots", "delay")}
        self.store = confetti.Store(self.dir / "device")

    def open(self, **change) -> confetti.Device:
        device = confetti.open(**{**self.app, "store": self.store, **change})
        self.addCleanup(device.close)
        return device

    def token(self) -> str:
        """Return the token of a respondent whom no other test takes."""
        tokens = (trial / "devices.tokens").read_text().split()
        token = tokens.pop()
        (trial / "devices.tokens").write_text("\n".join(tokens) + "\n")
        return token

    def test_it_answers_once(self) -> None:
        with self.open(bearer=self.token()) as device:
            self.assertEqual([f.name for f in device.fields], ["colour"])
            self.assertTrue(0 < device.charge.epsilon <= 1 < device.charge.local and device.charge.delta > 0, device.charge)
            self.assertEqual((device.publisher, device.plan), (self.app["publishers"][0], self.app["plan"].rpartition("/")[2]))
            self.refused("not-opted-in", device.report, colour="green")
            self.store.consent(True)
            for wrong in ({"color": "green"}, {"colour": 3}, {"colour": float("nan")}, {"colour": {"green"}}, {}):
                self.refused("bad-answers", device.report, wrong)
            waiting = device.answer(colour="green")
            self.assertEqual((waiting.status, waiting.parts > 0, waiting.fits), ("waiting", True, True))
            sent = device.deliver()
            self.assertEqual((sent.status, sent.parts, sent.code), ("sent", 0, None))
            self.refused("answered", device.report, colour="blue")
        self.refused("ended", device.deliver)
        self.assertEqual(len(self.store.ledger()["entries"]), 1)
        self.assertIn(device.title, self.store.words())

    def test_what_is_wrong_has_its_code(self) -> None:
        self.refused("nothing-kept", self.store.words)
        self.store.consent(True)
        self.refused("bad-options", self.open, publishers=[])
        self.refused("bad-options", self.open, delay=-1.0)
        self.refused("bad-options", self.open, store=confetti.Store("a\0b"))
        self.refused("bad-options", self.open, caps={"weekly": 1})
        self.refused("publisher", self.open, publishers=["ed25519:" + "A" * 43])
        self.refused("promise", self.open, plan="{}")
        self.refused("certificate", self.open, roots=None)
        self.refused("unreachable", self.open, plan="https://127.0.0.1:1/v1/plans/" + "0" * 64)
        self.refused("cancelled", self.open, timeout=1e-9)
        device = self.open(bearer="nobody")
        self.refused("credential", device.report, colour="green")
        self.assertFalse(self.store.ledger()["entries"])
        with self.open(caps={"plan": {"epsilon": 0.01, "delta": 1e-9}, "window": {"epsilon": 0.01, "delta": 1e-9}, "days": 30}) as frugal:
            self.refused("spent", frugal.answer, colour="green")

    def test_who_withdraws_has_nothing_waiting(self) -> None:
        self.store.consent(True)
        device = self.open(bearer="nobody")
        self.assertEqual(device.answer(colour="green").status, "waiting")
        self.store.consent(False)
        self.refused("not-opted-in", device.answer, colour="green")
        self.store.consent(True)
        self.refused("answered", device.answer, colour="green")
        self.refused("dropped", device.deliver)

    def test_a_child_of_fork_is_refused_and_its_parent_goes_on(self) -> None:
        self.store.consent(True)
        device = self.open(bearer=self.token())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of newer Pythons, of just this
            pid = os.fork()
        if pid == 0:
            code = 1
            try:
                device.close()  # does nothing there
                self.refused("forked", device.deliver)
                self.refused("forked", device.report, colour="green")
                code = 0
            finally:
                os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.assertEqual(device.report(colour="green").status, "sent")

    def test_threads_call_at_once(self) -> None:
        self.store.consent(True)
        found = []

        def read() -> None:
            for _ in range(20):
                found.append(self.store.ledger()["entries"])

        threads = [threading.Thread(target=read) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(len(found), 160)


@unittest.skipUnless(os.environ.get("CONFETTI_COUNTS"), "no metrics")
class TestMetrics(Case):
    """CONFETTI_COUNTS names the folder of counts.py, which confetti metrics code wrote beside its registry."""

    def setUp(self) -> None:
        super().setUp()
        import sys

        with mock.patch.object(sys, "path", [os.environ["CONFETTI_COUNTS"], *sys.path]):
            import counts
        self.counts = counts
        self.addCleanup(counts.app.stop)

    def start(self) -> None:
        self.counts.app.start(self.dir / "device", roots=str(trial / "authority.crt"), background=False)

    def test_an_app_counts_what_the_person_has_agreed_to(self) -> None:
        c, folder = self.counts, self.dir / "device"
        c.export_used.add()  # before the start nothing is counted, and nothing raises
        self.refused("ended", c.app.record, "export_used", 1)
        self.start()
        self.refused("bad-options", self.start)
        c.export_used.add(3)
        self.assertFalse(folder.exists())
        asked = list(c.new())
        self.assertTrue(any("Which theme is the default" in said for said in asked), asked)
        c.consent(True)
        self.assertEqual(list(c.new()), [])
        c.export_used.add(2)
        c.theme.set("dark")
        c.start_seconds.set(1.2)
        for code, name, value in (("unknown-metric", "exports", 1), ("wrong-type", "theme", 3), ("outside-domain", "theme", "purple"), ("wrong-type", "export_used", "often"), ("wrong-type", "export_used", float("nan"))):
            with self.assertRaises(confetti.ConfettiError) as caught:
                c.app.record(name, value)
            self.assertEqual(caught.exception.code, code)
        c.app.record("theme", "light")
        stepped = c.app.step()
        self.assertIsNotNone(stepped.next)
        self.assertEqual((stepped.why is None), (stepped.code is None), stepped)
        c.app.stop()
        self.assertTrue(folder.exists())
        c.theme.set("dark")  # it has ended: nothing is counted
        self.start()
        self.assertNotIn("purple", c.app.show())
        c.consent(False)
        c.app.stop()
        self.assertNotIn('"light"', "".join(p.read_text(errors="replace") for p in folder.rglob("*") if p.is_file() and p.name.startswith("metrics")))

    def test_what_is_wrong_has_its_code(self) -> None:
        app = metrics.App(self.counts.app._registry, ["ed25519:" + "A" * 43])
        self.refused("publisher", app.start, self.dir / "device", background=False)
        self.refused("bad-options", metrics.App(self.counts.app._registry, []).start, self.dir / "device", background=False)
        self.refused("registry", metrics.App("no registry", self.counts.app._publishers).start, self.dir / "device", background=False)


@unittest.skipUnless(os.environ.get("CONFETTI_REFUSED"), "no registries to refuse")
class TestRefusals(Case):
    """CONFETTI_REFUSED names the folder of registries that foreign.Refused wrote: first.json, second.json, player.json."""

    def setUp(self) -> None:
        super().setUp()
        self.given = Path(os.environ["CONFETTI_REFUSED"])
        self.folder = self.dir / "device"

    def app(self, registry: str, key: typing.Optional[str] = None) -> metrics.App:
        app = metrics.App((self.given / registry).read_text(), [key or (self.given / "key.txt").read_text()])
        self.addCleanup(app.stop)
        return app

    def kept(self) -> typing.Dict[str, bytes]:
        return {str(p.relative_to(self.folder)): p.read_bytes() for p in self.folder.rglob("*") if p.is_file()}

    def seasons(self) -> typing.Any:
        return json.loads((self.folder / "metrics").read_text())["seasons"]

    def starts(self, code: str, registry: str, key: typing.Optional[str] = None) -> str:
        return self.refused(code, self.app(registry, key).start, self.folder, background=False)

    def test_a_registry_that_is_not_believed_changes_nothing(self) -> None:
        self.assertIn("stranger", self.starts("publisher", "second.json", "ed25519:" + "A" * 43))
        self.assertFalse(self.folder.exists())
        app = self.app("second.json")
        app.start(self.folder, background=False)
        app.consent(True)
        app.record("theme", "dark")
        app.stop()
        before = self.kept()
        self.assertTrue(before)
        self.assertRegex(self.starts("rolled-back", "first.json"), "registry 1 of editor .* registry 2")
        self.assertRegex(self.starts("other-app", "player.json"), "editor.*player.*a store of its own")
        self.starts("publisher", "second.json", "ed25519:" + "A" * 43)
        changed = metrics.App((self.given / "second.json").read_text().replace("Whether it is worth it", "Whether it is worth IT", 1), [(self.given / "key.txt").read_text()])
        self.assertIn("changed after its publisher signed it", self.refused("registry", changed.start, self.folder, background=False))
        self.assertEqual(self.kept(), before)
        app.start(self.folder, background=False)  # what was agreed to stands
        self.assertEqual(list(app.new()), [])

    def test_two_apps_at_once_have_a_store_each(self) -> None:
        first = self.app("second.json")
        first.start(self.folder, background=False)
        first.consent(True)
        first.record("export_used", 1)
        self.starts("other-app", "player.json")
        first.record("export_used", 1)
        player = self.app("player.json")
        player.start(self.dir / "another", background=False)
        player.consent(True)
        player.record("export_used", 1)
        player.stop()
        first.stop()
        self.assertEqual([json.loads((d / "metrics").read_text())["app"] for d in (self.folder, self.dir / "another")], ["editor", "player"])

    def test_a_call_that_does_not_fit_is_named_and_its_value_is_not(self) -> None:
        app = self.app("second.json")
        app.start(self.folder, background=False)
        app.consent(True)
        app.record("theme", "dark")
        app.stop()
        before = self.seasons()
        app.start(self.folder, background=False)
        for code, name, value in (("unknown-metric", "exprt_used", 1), ("wrong-type", "theme", 3), ("wrong-type", "export_used", 1.5), ("wrong-type", "start_seconds", "solarized"), ("outside-domain", "export_used", -1)):
            self.assertIn(name, self.refused(code, app.record, name, value))
        self.assertIn("export_used", self.refused("wrong-type", app.arm, "export_used"))
        app.stop()
        self.assertEqual(self.seasons(), before)
        app.start(self.folder, background=False)
        said = self.refused("outside-domain", app.record, "theme", "solarized")  # it counts as another one, and is not kept as it is
        self.assertTrue("theme" in said and "solarized" not in said, said)
        app.stop()
        self.assertFalse([name for name, text in self.kept().items() if b"solarized" in text])

    def test_a_clock_that_was_set_back_says_nothing_again(self) -> None:
        shutil.copytree(self.given / "ahead", self.folder)
        app = self.app("second.json")
        app.start(self.folder, background=False)
        told = app.step()
        self.assertEqual(told.code, "clock-back")
        self.assertIn("was set back; what was said is not said again", told.why or "")
        app.record("theme", "dark")  # it counts on
        self.assertEqual(list(app.new()), [])
        self.assertEqual(confetti.Store(self.folder).ledger()["entries"], [])


if __name__ == "__main__":
    unittest.main()
