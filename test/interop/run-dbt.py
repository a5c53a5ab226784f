"""Runs dbt, each command in a process of its own that shares what was imported. argv[1]: JSON, [{args, cwd, env}]."""

import json
import os
import sys

from dbt.cli.main import dbtRunner

for task in json.loads(sys.argv[1]):
    child = os.fork()
    if child == 0:
        os.environ.update(task["env"])
        os.chdir(task["cwd"])
        result = dbtRunner().invoke(task["args"])
        if result.exception is not None:
            print(repr(result.exception))
        sys.stdout.flush()
        # As the command line ends: 1 where something failed, 2 where it could not run.
        os._exit(0 if result.success else 1 if result.exception is None else 2)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(f"\n== exit {code}", flush=True)
