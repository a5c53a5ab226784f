"""Sluice in Airflow: exit code 75, "again later", becomes a reschedule at the time that Sluice names.

A reschedule gives the worker back and is not a failure. It needs Airflow 3.3; with older versions, which reschedule only
sensors, write `@task.sensor(mode="reschedule")` in place of `@task`, and return True.
"""

import json
import subprocess
from datetime import datetime, timedelta, timezone

from airflow.exceptions import AirflowRescheduleException
from airflow.sdk import dag, task

COMMAND = ["sluice", "sync", "--json", "--max-wait", "0", "--no-progress"]
AGAIN = timedelta(minutes=10)


@task
def sync() -> str:
    ran = subprocess.run(COMMAND, stdout=subprocess.PIPE, text=True)
    answer = json.loads(ran.stdout)
    if ran.returncode == 75:
        raise AirflowRescheduleException(find_resume_at(answer))
    if ran.returncode != 0:
        raise RuntimeError(f"sluice ended with exit code {ran.returncode}: {answer['summary']}")
    return answer["summary"]


def find_resume_at(answer: dict) -> datetime:
    """From the result, or from the error of a run that could not start; ten minutes where no time is known."""
    at = (answer["result"] or {}).get("resumeAt") or (answer["error"] or {}).get("resumeAt")
    return datetime.fromisoformat(at.replace("Z", "+00:00")) if at else datetime.now(timezone.utc) + AGAIN


@dag(schedule="15 6 * * *", start_date=datetime(2026, 1, 1, tzinfo=timezone.utc), catchup=False, max_active_runs=1)
def analytics():
    sync()


analytics()
