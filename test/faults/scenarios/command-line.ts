import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AbortedError } from '../../../src/model/errors.ts';
import type { Scenario } from '../kit/scenario.ts';
import { readEnd } from '../kit/scenario.ts';
import { rewrite, runOn, setUp, syncAgainst, syncOn } from '../kit/stage.ts';

/** A command line on a healthy stage. */
function run(...argv: readonly string[]): Scenario {
  return async () => runOn(await setUp(), argv);
}

/** A sync that a signal ends at its first page. */
function stopWith(signal: 'SIGINT' | 'SIGTERM', exitCode: 130 | 143): Scenario {
  return async () => {
    const stage = await setUp();
    const stop = new AbortController();
    const reason = new AbortedError(`stopped by ${signal}`, {
      code: 'aborted',
      hint: 'Nothing is left half done; run the same command again to continue.',
      exitCode,
    });
    stage.server.misbehave(({ n }) => {
      if (n === 1) stop.abort(reason);
      return undefined;
    });
    return runOn(stage, ['sync'], { signal: stop.signal });
  };
}

/** The rows of docs/reliability.md about options, config and the command line, by the name in their last cell. */
export const commandLineScenarios: Readonly<Record<string, Scenario>> = {
  'a deadline': async () => {
    // One request a second: the scan cannot be over before its deadline.
    const stage = await setUp({ config: { source: { quota: { burstPerSecond: 1 } } } });
    return syncOn(stage, '--deadline', '2s');
  },
  'a number of requests': async () => syncOn(await setUp(), '--max-requests', '2'),
  'a warning under --strict': syncAgainst(
    rewrite(({ data, pagination }) => ({ data, pagination: { ...pagination, total: undefined } })),
    { config: { source: { keyExpiresAt: '2026-02-01' } } },
    '--strict',
  ),
  'Ctrl-C': stopWith('SIGINT', 130),
  'a container that is stopped': stopWith('SIGTERM', 143),
  'no config': async () => {
    const stage = await setUp();
    rmSync(join(stage.project.folder, 'sluice.yaml'));
    return syncOn(stage);
  },
  'a misspelt setting': async () => syncOn(await setUp({ config: { source: { apiKeys: 'x' } as object } })),
  'no key': async () => runOn(await setUp(), ['sync'], { env: { ANALYTICS_API_KEY: '' } }),
  'a misspelt stream': run('sync', '--streams', 'itms'),
  'a misspelt option': run('sync', '--max-wiat', '0'),
  'another base URL': async () => {
    const stage = await setUp();
    await syncOn(stage);
    return syncOn(await setUp({ folder: stage.project.folder }));
  },
  'a file that is not ours': async () => {
    const stage = await setUp();
    writeFileSync(stage.project.duckdbPath, 'a letter to a friend');
    return syncOn(stage);
  },
  'wrong SQL': async () => {
    const stage = await setUp();
    await syncOn(stage);
    return runOn(stage, ['query', 'SELEKT 1']);
  },
  'a defect': async () => {
    const stage = await setUp();
    const engine = { runSync: () => Promise.reject(new TypeError('x is not a function')) };
    return readEnd(await stage.project.run(['sync', '--json'], { engine }));
  },
};
