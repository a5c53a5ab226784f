"""Starts the command line and reads its one JSON object."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from typing import IO, Any, List, Mapping, Optional, Sequence, Tuple, Union

from ._errors import NotInstalled, SluiceBug, SluiceError, class_of
from ._reports import read_time

PathLike = Union[str, "os.PathLike[str]"]


#: Bytes of the end of a log that an error shows.
_MOST_OF_LOG = 4_000


@dataclass(frozen=True)
class CommandResult:
    """The outcome of a command, as ``--json`` writes it."""

    command: Optional[str]
    exit_code: int
    summary: str
    result: Any
    error: Optional[Mapping[str, str]]


def run(
    *arguments: str,
    config: Optional[PathLike] = None,
    env: Optional[Mapping[str, str]] = None,
    cwd: Optional[PathLike] = None,
    quiet: bool = False,
) -> CommandResult:
    """Runs any command with ``--json``, such as ``run("verify")``.

    :param env: variables in addition to those of this process; the place for a key
    :param quiet: leave out the log, which goes to stderr; an error without another cause has its end
    :raises SluiceError: if it does not end with 0
    """
    outcome = execute(arguments, config=config, env=env, cwd=cwd, quiet=quiet)
    if outcome.exit_code == 0:
        return outcome
    raise to_error(outcome)


def execute(
    arguments: Sequence[str],
    *,
    config: Optional[PathLike],
    env: Optional[Mapping[str, str]],
    cwd: Optional[PathLike] = None,
    quiet: bool = False,
) -> CommandResult:
    """The same, whatever the exit code."""
    where = {**os.environ, **(env or {})}
    settings = [] if config is None else [f"--config={os.fspath(config)}"]
    # Before the arguments: what comes after their -- is not an option.
    line = [*find_program(where), "--json", "--no-progress", *settings, *arguments]
    # A program that ends before it can write its JSON says why on stderr alone.
    with tempfile.TemporaryFile() as log:
        written, exit_code = _call(line, env=where, cwd=cwd, log=log if quiet else None)
        return _read_outcome(written, exit_code, _read_end(log))


def _call(
    line: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Optional[PathLike],
    log: Optional[IO[bytes]],
) -> Tuple[bytes, int]:
    try:
        child = subprocess.Popen(
            line,
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
        )
    except OSError as cause:
        raise NotInstalled(
            f"cannot start {line[0]}: {cause.strerror}",
            code="not_installed",
            hint="Set SLUICE_BIN to the program, e.g. /srv/sluice/dist/src/cli/bin.js.",
            exit_code=2,
        ) from cause
    with child:
        try:
            written, _ = child.communicate()
        except BaseException:
            # It keeps the pages already paid for, and then ends.
            child.send_signal(signal.SIGINT if os.name == "posix" else signal.SIGTERM)
            child.wait()
            raise
    return written, child.returncode


def _read_end(log: IO[bytes]) -> str:
    size = log.seek(0, os.SEEK_END)
    log.seek(max(0, size - _MOST_OF_LOG))
    return log.read().decode("utf-8", "replace").strip()


def find_program(env: Mapping[str, str]) -> List[str]:
    """The words that start Sluice: ``SLUICE_BIN``, else ``sluice`` on the PATH."""
    named = env.get("SLUICE_BIN", "").strip()
    program = named or shutil.which("sluice", path=env.get("PATH"))
    if not program:
        raise NotInstalled(
            "there is no sluice on the PATH",
            code="not_installed",
            hint="Install it, or set SLUICE_BIN to it, e.g. /srv/sluice/dist/src/cli/bin.js.",
            exit_code=2,
        )
    if program.endswith((".js", ".ts")):
        return [shutil.which("node", path=env.get("PATH")) or "node", program]
    if program.lower().endswith((".cmd", ".bat")):
        # Windows would read the arguments as a script.
        raise NotInstalled(
            f"{program} is a script of cmd.exe, which takes no arguments safely",
            code="not_installed",
            hint="Set SLUICE_BIN to dist/src/cli/bin.js of the installed package.",
            exit_code=2,
        )
    return [program]


def to_error(outcome: CommandResult, resume_at: Any = None) -> SluiceError:
    """The exception for an outcome that is not a success."""
    error = outcome.error or {}
    return class_of(outcome.exit_code)(
        error.get("message") or outcome.summary or f"sluice ended with exit code {outcome.exit_code}",
        code=error.get("code", "unknown"),
        hint=error.get("hint", ""),
        exit_code=outcome.exit_code,
        resume_at=read_time(resume_at),
    )


def _read_outcome(written: bytes, exit_code: int, told: str) -> CommandResult:
    try:
        found = json.loads(written)
        return CommandResult(
            command=found["command"],
            # A signal may come after the object was written.
            exit_code=exit_code,
            summary=found["summary"],
            result=found["result"],
            error=found["error"],
        )
    except (ValueError, KeyError, TypeError) as cause:
        if exit_code != 0:
            error = {"message": f"sluice ended with exit code {exit_code}:\n{told}"} if told else None
            return CommandResult(None, exit_code, "", None, error)
        raise SluiceBug(
            "the program wrote something else than the JSON of Sluice",
            code="bug",
            hint="\n".join(filter(None, ["SLUICE_BIN, or sluice on the PATH, may be another program.", told])),
            exit_code=1,
        ) from cause
