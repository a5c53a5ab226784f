"""Sluice in Prefect: exit code 75, "again later", becomes another try at the time that Sluice names."""

import json
import subprocess
import time
from datetime import datetime, timezone

from prefect import flow, get_run_logger, task

COMMAND = ["sluice", "sync", "--json", "--max-wait", "0", "--no-progress"]
AGAIN_SECONDS = 600


@task
def sync() -> dict:
    ran = subprocess.run(COMMAND, stdout=subprocess.PIPE, text=True)
    answer = json.loads(ran.stdout)
    if ran.returncode not in (0, 75):
        raise RuntimeError(f"sluice ended with exit code {ran.returncode}: {answer['summary']}")
    return answer


@flow(name="analytics", timeout_seconds=6 * 3600)
def analytics() -> str:
    answer = sync()
    while answer["exitCode"] == 75:
        seconds = seconds_until_resume(answer)
        get_run_logger().info("%s; again in %d seconds", answer["summary"], seconds)
        time.sleep(seconds)
        answer = sync()
    return answer["summary"]


def seconds_until_resume(answer: dict) -> float:
    """From the result, or from the error of a run that could not start; ten minutes where no time is known."""
    at = (answer["result"] or {}).get("resumeAt") or (answer["error"] or {}).get("resumeAt")
    if at is None:
        return AGAIN_SECONDS
    resume_at = datetime.fromisoformat(at.replace("Z", "+00:00"))
    return max(1, (resume_at - datetime.now(timezone.utc)).total_seconds())


if __name__ == "__main__":
    analytics()
