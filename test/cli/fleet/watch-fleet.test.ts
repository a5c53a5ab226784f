import { describe, expect, it } from 'vitest';
import { watchFleet } from '../../../src/cli/fleet/watch-fleet.ts';
import { makeFleetStatus } from '../../support/fleet-status.ts';
import { makePathRequest } from '../support/path-request.ts';

function makeWatch(read = () => Promise.resolve(makeFleetStatus([]))) {
  let nowMs = 0;
  let reads = 0;
  const controller = new AbortController();
  const watch = watchFleet({
    read() {
      reads += 1;
      return read();
    },
    render: ({ database }) => Promise.resolve(`metrics of ${database}\n`),
    type: 'text/plain',
    clock: { now: () => nowMs, monotonic: () => nowMs, sleep: () => Promise.resolve() },
    signal: controller.signal,
  });
  return {
    watch,
    controller,
    ask: async (path: string) => watch.paths[path]?.(makePathRequest(path)),
    pass: (ms: number) => (nowMs += ms),
    reads: () => reads,
  };
}

describe('what watches a worker', () => {
  it('asks the database once for all that scrape within five seconds', async () => {
    const { ask, pass, reads } = makeWatch();
    for (const path of ['/metrics', '/metrics', '/readyz'])
      expect(await ask(path)).toMatchObject({ status: 200 });
    pass(4_999);
    await ask('/metrics');
    expect(reads()).toBe(1);
    pass(1);
    await ask('/metrics');
    expect(reads()).toBe(2);
  });

  it('is not ready while the database is away, and tells nothing of why', async () => {
    const { ask } = makeWatch(() => Promise.reject(new Error('password refused')));
    expect(await ask('/readyz')).toMatchObject({
      status: 503,
      body: '{"ready":false,"reason":"database_away"}\n',
    });
    expect(await ask('/metrics')).toMatchObject({ status: 503, body: 'the database does not answer\n' });
    expect(await ask('/healthz')).toMatchObject({ status: 200 });
  });

  it('is alive while it looks for accounts, and while it drains', async () => {
    const { ask, pass, watch, controller } = makeWatch();
    pass(120_000);
    expect(await ask('/healthz')).toMatchObject({ status: 200, body: '{"status":"ok"}\n' });
    pass(1);
    expect(await ask('/healthz')).toMatchObject({ status: 503, body: '{"status":"stuck"}\n' });
    watch.onLook();
    expect(await ask('/healthz')).toMatchObject({ status: 200 });
    controller.abort();
    pass(3_600_000);
    expect(await ask('/healthz')).toMatchObject({ status: 200, body: '{"status":"draining"}\n' });
  });
});
