"""Sluice in Dagster: an asset for each stream, its verdict as a check, and a retry at the time that Sluice names.

Sluice reports to Dagster Pipes by itself. The keys are those of the dbt sources that Sluice writes, so that models which
read them come after these assets.
"""

import json
import os
import subprocess
from datetime import datetime, timezone

import dagster as dg

STREAMS = ["visibility_mentions", "prompts_analytics", "commerce_category_products", "commerce_top_products"]
KEYS = [dg.AssetKey(["sluice", stream]) for stream in STREAMS]
COMMAND = ["sluice", "sync", "--json", "--max-wait", "0", "--no-progress"]
AGAIN_SECONDS = 600


@dg.multi_asset(
    specs=[dg.AssetSpec(key, skippable=True) for key in KEYS],
    check_specs=[dg.AssetCheckSpec("verdict", asset=key) for key in KEYS],
)
def analytics(context: dg.AssetExecutionContext):
    with dg.open_pipes_session(
        context=context,
        context_injector=dg.PipesTempFileContextInjector(),
        message_reader=dg.PipesTempFileMessageReader(),
        # Dagster refuses checks that it does not know: name the one of the specs above.
        extras={"sluice": {"check": "verdict"}},
    ) as session:
        env = {**os.environ, **session.get_bootstrap_env_vars()}
        ran = subprocess.run(COMMAND, env=env, stdout=subprocess.PIPE, text=True)
    answer = json.loads(ran.stdout)
    context.log.info(answer["summary"])
    # Again later, with progress saved: what is complete by then is reported by the last try.
    if ran.returncode == 75:
        raise dg.RetryRequested(max_retries=12, seconds_to_wait=seconds_until_resume(answer))
    yield from session.get_results(implicit_materializations=False)
    if ran.returncode != 0:
        raise dg.Failure(f"sluice ended with exit code {ran.returncode}: {answer['summary']}", allow_retries=False)


def seconds_until_resume(answer: dict) -> float:
    """From the result, or from the error of a run that could not start; ten minutes where no time is known."""
    at = (answer["result"] or {}).get("resumeAt") or (answer["error"] or {}).get("resumeAt")
    if at is None:
        return AGAIN_SECONDS
    resume_at = datetime.fromisoformat(at.replace("Z", "+00:00"))
    return max(1, (resume_at - datetime.now(timezone.utc)).total_seconds())


defs = dg.Definitions(assets=[analytics])
