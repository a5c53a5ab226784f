"""Runs the task of a program for Airflow as a worker does: again at the time of each reschedule. argv[1]: the program."""

import runpy
import sys
import time
from datetime import datetime, timezone

from airflow.exceptions import AirflowRescheduleException

module = runpy.run_path(sys.argv[1])
[dag] = [one for one in module.values() if type(one).__name__ == "DAG"] or [module["analytics"]()]
assert dag.task_ids == ["sync"], dag.task_ids
reschedules = 0
while True:
    try:
        print(module["sync"].function())
        break
    except AirflowRescheduleException as thrown:
        reschedules += 1
        time.sleep(max(0, (thrown.reschedule_date - datetime.now(timezone.utc)).total_seconds()))
print(f"reschedules: {reschedules}")
