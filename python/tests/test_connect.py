"""Against files as a sync publishes them: each replaces the one before by a rename."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any, List
from unittest import mock

import duckdb
import sluice
from sluice import _connect

HOLDER = "import duckdb, sys; con = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"


class Connect(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "warehouse.duckdb"
        self.publish(1)

    def publish(self, value: int, schema: str = "_sluice") -> None:
        newer = self.file.with_name("newer")
        with duckdb.connect(str(newer)) as con:
            con.execute(f"CREATE TABLE numbers AS SELECT {value} AS n")
            con.execute(f"CREATE SCHEMA {schema}")
        newer.replace(self.file)

    def open(self) -> Any:
        con = sluice.connect(self.file)
        self.addCleanup(con.close)
        con.execute("CREATE TEMP TABLE mine AS SELECT 'mine' AS m")
        return con

    def read(self, con: Any) -> List[Any]:
        rows: List[Any] = con.execute("SELECT n FROM numbers").fetchall()
        return rows

    def assert_still_shows(self, con: Any, value: int) -> None:
        self.assertEqual(self.read(con), [(value,)])
        self.assertEqual(con.execute("SELECT m FROM mine").fetchall(), [("mine",)])

    def test_a_relation_can_be_read_afterwards_whatever_was_read_before(self) -> None:
        con = self.open()
        con.execute("SELECT * FROM range(5000)").fetchone()
        self.publish(2)
        sluice.refresh(con)
        self.assertEqual(con.sql("SELECT n FROM numbers").fetchall(), [(2,)])
        self.file.unlink()
        with self.assertRaises(sluice.ConfigError):
            sluice.refresh(con)
        self.assertEqual(con.sql("SELECT n FROM numbers").fetchall(), [(2,)])

    def test_a_transaction_is_refused_and_goes_on(self) -> None:
        con = self.open()
        con.execute("BEGIN")
        self.read(con)
        con.execute("INSERT INTO mine VALUES ('more')")
        self.publish(2)
        with self.assertRaises(sluice.ConfigError) as refused:
            sluice.refresh(con)
        self.assertIn("Nothing was changed", refused.exception.hint)
        self.assertEqual(self.read(con), [(1,)])
        con.execute("COMMIT")
        self.assertEqual(con.execute("SELECT count(*) FROM mine").fetchall(), [(2,)])
        sluice.refresh(con)
        self.assertEqual(self.read(con), [(2,)])

    def test_a_failed_transaction_is_refused(self) -> None:
        con = self.open()
        con.execute("BEGIN")
        with self.assertRaises(duckdb.Error):
            con.execute("SELECT error('wrong')").fetchall()
        with self.assertRaises(sluice.ConfigError) as refused:
            sluice.refresh(con)
        self.assertIn("ROLLBACK", refused.exception.hint)
        con.execute("ROLLBACK")
        self.assert_still_shows(con, 1)

    def test_a_file_that_cannot_be_opened_leaves_the_older_one(self) -> None:
        def remove() -> None:
            self.file.unlink()

        def damage() -> None:
            self.file.unlink()
            self.file.write_bytes(b"x" * 5000)

        def empty() -> None:
            self.file.unlink()
            self.file.touch()

        def cover() -> None:
            self.file.unlink()
            self.file.mkdir()

        for spoil, kind in [
            (remove, sluice.ConfigError),
            (damage, sluice.StorageError),
            (empty, sluice.StorageError),
            (cover, sluice.StorageError),
        ]:
            with self.subTest(spoil.__name__):
                self.publish(1)
                con = self.open()
                spoil()
                for _ in range(2):
                    with self.assertRaises(kind) as failed:
                        sluice.refresh(con)
                    self.assertIn(str(self.file), failed.exception.message)
                    self.assert_still_shows(con, 1)
                if self.file.is_dir():
                    self.file.rmdir()
                self.publish(2)
                sluice.refresh(con)
                self.assert_still_shows(con, 2)

    def test_a_file_that_another_program_writes_is_for_later(self) -> None:
        con = self.open()
        # What a sync publishes is another file: the one that is open here cannot be locked.
        self.publish(2)
        with subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(self.file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as holder:
            assert holder.stdin is not None and holder.stdout is not None
            try:
                holder.stdout.readline()
                for attempt in (lambda: sluice.refresh(con), lambda: sluice.connect(self.file)):
                    with self.assertRaises(sluice.RetryLater) as later:
                        attempt()
                    self.assertEqual((later.exception.code, later.exception.exit_code), ("state_locked", 75))
                self.assert_still_shows(con, 1)
            finally:
                holder.stdin.close()
        sluice.refresh(con)
        self.assert_still_shows(con, 2)

    def test_a_file_that_this_program_writes_is_for_later(self) -> None:
        with duckdb.connect(str(self.file)):
            with self.assertRaises(sluice.RetryLater):
                sluice.connect(self.file)

    def test_a_file_that_goes_in_mid_exchange_is_found_again(self) -> None:
        con = self.open()
        with mock.patch.object(_connect, "_try_out", lambda path: self.file.unlink()):
            with self.assertRaises(sluice.StorageError):
                sluice.refresh(con)
        self.assertEqual(con.execute("SELECT m FROM mine").fetchall(), [("mine",)])
        self.publish(2)
        sluice.refresh(con)
        self.assert_still_shows(con, 2)

    def test_a_closed_connection_says_so(self) -> None:
        con = self.open()
        con.close()
        with self.assertRaises(sluice.ConfigError) as closed:
            sluice.refresh(con)
        self.assertIn("sluice.connect()", closed.exception.hint)

    def test_the_schema_in_use_stays_while_the_file_has_it(self) -> None:
        con = self.open()
        con.execute("USE warehouse._sluice")
        self.publish(2)
        sluice.refresh(con)
        self.assertEqual(con.execute("SELECT current_schema()").fetchall(), [("_sluice",)])
        self.publish(3, schema="another")
        sluice.refresh(con)
        self.assert_still_shows(con, 3)

    def test_a_file_of_your_own_is_not_taken_for_the_published_one(self) -> None:
        con = self.open()
        other = self.file.with_name("other.duckdb")
        with duckdb.connect(str(other)) as own:
            own.execute("CREATE TABLE owned AS SELECT 7 AS o")
        con.execute(f"ATTACH '{other}' (READ_ONLY)")
        con.execute("USE other")
        self.publish(2)
        sluice.refresh(con)
        self.assertEqual(con.execute("SELECT o, n FROM owned, warehouse.numbers").fetchall(), [(7, 2)])

    def test_threads_refresh_one_at_a_time(self) -> None:
        con = self.open()
        failures: List[BaseException] = []

        def refresh_often() -> None:
            try:
                for _ in range(20):
                    sluice.refresh(con)
            except BaseException as failure:
                failures.append(failure)

        threads = [threading.Thread(target=refresh_often) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assert_still_shows(con, 1)

    def test_a_cursor_keeps_its_transaction_and_sees_the_newer_file_after_it(self) -> None:
        con = self.open()
        cursor = con.cursor()
        cursor.execute("USE warehouse")
        cursor.execute("BEGIN")
        self.read(cursor)
        self.publish(2)
        sluice.refresh(con)
        self.assertEqual((self.read(con), self.read(cursor)), ([(2,)], [(1,)]))
        cursor.execute("COMMIT")
        self.assertEqual(self.read(cursor), [(2,)])
        self.publish(3)
        sluice.refresh(cursor)
        self.assertEqual((self.read(con), self.read(cursor)), ([(3,)], [(3,)]))

    def test_files_named_like_schemas_open(self) -> None:
        for name in ["information_schema.duckdb", "pg_catalog.duckdb", "main.duckdb", "it's \"mine\".duckdb"]:
            with self.subTest(name):
                self.publish(1)
                file = self.file.replace(self.file.with_name(name))
                with sluice.connect(file) as con:
                    self.assertEqual(self.read(con), [(1,)])
                    sluice.refresh(con)
                    self.assertEqual(self.read(con), [(1,)])


if __name__ == "__main__":
    unittest.main()
