"""Runs commands to their end, each one's output piped into the next, and says what they cost.

The only argument is JSON: commands, log (a file for what they say). Prints one line of JSON: seconds, cpuSeconds,
peakMb, exitCodes. Each command is waited for by itself, which is how the system says what it and its children used.
"""

import json
import os
import subprocess
import sys
import time

job = json.loads(sys.argv[1])
# macOS counts bytes, others kilobytes.
UNITS_OF_MB = 2**20 if sys.platform == "darwin" else 2**10

with open(job["log"], "wb") as log:
    started_at = time.monotonic()
    processes = []
    source = subprocess.DEVNULL
    for at, command in enumerate(job["commands"]):
        is_last = at == len(job["commands"]) - 1
        process = subprocess.Popen(command, stdin=source, stdout=log if is_last else subprocess.PIPE, stderr=log)
        # Only the next one may hold it: a command whose reader has ended has to notice.
        if source != subprocess.DEVNULL:
            source.close()
        source = process.stdout
        processes.append(process)
    usages = []
    for process in processes:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        usages.append(usage)
    seconds = time.monotonic() - started_at

print(
    json.dumps(
        {
            "seconds": seconds,
            "cpuSeconds": sum(usage.ru_utime + usage.ru_stime for usage in usages),
            "peakMb": sum(usage.ru_maxrss for usage in usages) / UNITS_OF_MB,
            "exitCodes": [process.returncode for process in processes],
        }
    )
)
