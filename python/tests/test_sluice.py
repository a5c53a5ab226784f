"""Against the program in SLUICE_BIN and a simulated API: see test/interop/parts/python.ts."""

from __future__ import annotations

import os
import stat
import tempfile
import unittest
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, List
from unittest import mock

import sluice
from sluice import _command, _sync

PROJECT = Path(os.environ.get("SLUICE_PROJECT", "."))
CONFIG = PROJECT / "sluice.yaml"
ACCOUNTS = Path(os.environ.get("SLUICE_ACCOUNTS_PROJECT", ".")) / "sluice.yaml"


def count(con: Any) -> int:
    return int(con.execute("SELECT count(*) FROM prompts_analytics").fetchall()[0][0])


class Sync(unittest.TestCase):
    def test_first_sync_to_notebook(self) -> None:
        with self.assertRaises(sluice.ConfigError) as none_yet:
            sluice.connect(CONFIG)
        self.assertIn("sluice.sync()", none_yet.exception.hint)

        # One stream, then the rest.
        part = sluice.sync(CONFIG, streams=["visibility_mentions"], run_id="one-stream", quiet=True)
        self.assertEqual(part.run_id, "one-stream")
        self.assertEqual([stream.stream for stream in part.streams], ["visibility_mentions"])

        report = sluice.sync(CONFIG, max_wait="0", quiet=True)
        self.assertEqual((report.status, report.exit_code, report.error), ("complete", 0, None))
        self.assertEqual({stream.verdict for stream in report.streams}, {"verified"})
        self.assertGreater(report.rows.inserted, 0)
        self.assertIsNotNone(report.started_at)
        self.assertEqual(Path(report.published or ""), (PROJECT / "warehouse.duckdb").resolve())

        found = sluice.status(CONFIG)
        self.assertEqual(Path(found.path), (PROJECT / "warehouse.duckdb").resolve())
        self.assertTrue(all(stream.verdict == "verified" for stream in found.streams))

        con = sluice.connect(CONFIG)
        rows = count(con)
        self.assertGreater(rows, 0)
        with self.assertRaisesRegex(Exception, "read-only"):
            con.execute("CREATE TABLE x AS SELECT 1")
        con.execute("CREATE TEMP TABLE mine AS SELECT 1 AS a")
        runs = "SELECT count(*) FROM _sluice.runs"
        before = con.execute(runs).fetchall()
        sluice.sync(CONFIG, quiet=True)
        self.assertEqual(con.execute(runs).fetchall(), before)
        # A new connection shows the newer file, though the earlier one is still open.
        with sluice.connect(PROJECT / "warehouse.duckdb") as newer:
            self.assertEqual(newer.execute(runs).fetchall()[0][0], before[0][0] + 1)
        sluice.refresh(con)
        self.assertEqual(con.execute(runs).fetchall()[0][0], before[0][0] + 1)
        self.assertEqual(con.execute("SELECT a FROM mine").fetchall(), [(1,)])
        self.assertEqual(count(con), rows)
        con.close()
        with sluice.connect(PROJECT / "lake" / "lake.duckdb") as lake:
            self.assertEqual(count(lake), rows)

        listed = sluice.query("-- a comment\nSELECT 9007199254740993 AS big, NULL AS none", CONFIG)
        self.assertEqual(listed.columns, ("big", "none"))
        self.assertEqual(listed.rows, (("9007199254740993", None),))
        self.assertEqual(sluice.run("runs", "one-stream", config=CONFIG, quiet=True).result["runId"], "one-stream")

    def test_accounts(self) -> None:
        report = sluice.sync_accounts(ACCOUNTS, accounts=["acme"], quiet=True)
        self.assertEqual([(end.account, end.exit_code) for end in report.accounts], [("acme", 0)])
        (end,) = report.accounts
        assert end.report is not None
        self.assertEqual(end.report.status, "complete")
        self.assertGreater(len(sluice.status(ACCOUNTS, account="acme").streams), 0)
        with sluice.connect(ACCOUNTS, account="acme") as con:
            self.assertGreater(count(con), 0)
        with self.assertRaises(sluice.ConfigError):
            sluice.status(ACCOUNTS)
        with self.assertRaises(sluice.ConfigError) as unknown:
            sluice.status(ACCOUNTS, account="nobody")
        self.assertIn("nobody", str(unknown.exception))


class Failures(unittest.TestCase):
    def test_exit_codes_are_classes(self) -> None:
        with self.assertRaises(sluice.ConfigError) as missing:
            sluice.sync(PROJECT / "nowhere.yaml", quiet=True)
        self.assertEqual((missing.exception.code, missing.exception.exit_code), ("config_not_found", 2))
        with self.assertRaises(sluice.ConfigError) as wrong:
            sluice.sync(CONFIG, streams=["no_such_stream"], quiet=True)
        self.assertIn("no_such_stream", str(wrong.exception))
        with self.assertRaises(sluice.ConfigError):
            sluice.query("SELECT nothing", CONFIG)

    def test_a_refused_key_is_not_shown(self) -> None:
        key = "sk-wrong-4711-secret-0815"
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder) / "sluice.yaml"
            config.write_text(CONFIG.read_text())
            with self.assertRaises(sluice.CredentialsError) as refused:
                sluice.sync(config, env={"ANALYTICS_API_KEY": key}, quiet=True)
        error = refused.exception
        self.assertEqual((error.code, error.exit_code), ("key_rejected", 3))
        assert isinstance(error.report, sluice.SyncReport)
        self.assertNotIn(key, f"{error}{error.report.raw}")

    def test_try_again_later_keeps_the_report(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder) / "sluice.yaml"
            config.write_text(CONFIG.read_text())
            with self.assertRaises(sluice.RetryLater) as later:
                sluice.sync(config, max_requests=3, quiet=True)
        self.assertEqual(later.exception.exit_code, 75)
        assert isinstance(later.exception.report, sluice.SyncReport)
        self.assertEqual(later.exception.report.requests, 3)

    def test_hostile_values_stay_values(self) -> None:
        for name in ["--full-refresh", "$(touch x)", "a; b", "-c"]:
            with self.assertRaises(sluice.ConfigError):
                sluice.sync(CONFIG, streams=[name], quiet=True)


class WithoutTheApi(unittest.TestCase):
    def test_there_is_no_program(self) -> None:
        with self.assertRaises(sluice.NotInstalled) as missing:
            sluice.sync(env={"SLUICE_BIN": "", "PATH": ""})
        self.assertIn("SLUICE_BIN", missing.exception.hint)
        with self.assertRaises(sluice.NotInstalled):
            sluice.sync(env={"SLUICE_BIN": "/nowhere/sluice"})
        with self.assertRaises(sluice.NotInstalled):
            sluice.sync(env={"SLUICE_BIN": "C:\\sluice.cmd"})

    def test_the_program_is_another_one(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            other = Path(folder) / "sluice"
            other.write_text("#!/bin/sh\necho hello\n")
            other.chmod(stat.S_IRWXU)
            with self.assertRaises(sluice.SluiceBug):
                sluice.sync(env={"SLUICE_BIN": str(other)})
            other.write_text("#!/bin/sh\necho 'sluice needs Node 22.20 or newer' >&2\nexit 2\n")
            with self.assertRaisesRegex(sluice.ConfigError, "needs Node 22.20"):
                sluice.sync(env={"SLUICE_BIN": str(other)}, quiet=True)
            with self.assertRaisesRegex(sluice.ConfigError, "needs Node 22.20"):
                sluice.run("verify", env={"SLUICE_BIN": str(other)}, quiet=True)
            other.write_text("#!/bin/sh\nkill -KILL $$\n")
            with self.assertRaises(sluice.InterruptedSync) as killed:
                sluice.sync(env={"SLUICE_BIN": str(other)})
            self.assertEqual(killed.exception.exit_code, -9)

    def test_options_are_words(self) -> None:
        seen: List[Any] = []

        def remember(words: Any, **_: Any) -> _command.CommandResult:
            seen.extend(words)
            error = {"code": "quota_exhausted", "message": "the hour is spent", "hint": "Wait."}
            result = {**RUN, "resumeAt": "2026-01-31T10:00:00.000Z"}
            return _command.CommandResult("sync", 75, "", result, error)

        with mock.patch.object(_sync, "execute", remember), self.assertRaises(sluice.RetryLater) as later:
            sluice.sync("a.yaml", streams=["a", "b"], from_date="2026-01-31", force=True, max_wait="0")
        self.assertEqual(seen, ["sync", "--streams=a,b", "--from=2026-01-31", "--force", "--max-wait=0"])
        self.assertEqual(later.exception.resume_at, datetime(2026, 1, 31, 10, tzinfo=timezone.utc))
        self.assertEqual(str(later.exception), "the hour is spent\nWait.")

    def test_connect_takes_a_file_or_a_config(self) -> None:
        with self.assertRaises(sluice.ConfigError):
            sluice.connect("warehouse.duckdb", account="acme")
        with self.assertRaises(sluice.ConfigError):
            sluice.connect("/nowhere/warehouse.duckdb")


RUN = {
    "runId": "r",
    "status": "stopped",
    "exitCode": 75,
    "requests": 0,
    "rows": {"read": 0, "inserted": 0, "updated": 0, "unchanged": 0, "deleted": 0, "quarantined": 0},
    "streams": [],
}


if __name__ == "__main__":
    unittest.main()
