import { describe, expect, it } from 'vitest';
import { run } from '../support/capture.ts';
import { SECRET } from '../support/fake-engine.ts';
import { makeRunReport, makeStreamReport } from '../support/reports.ts';

describe('discover, where nothing was synced yet', () => {
  it.each([
    ['key_rejected', 3, 'config_error'],
    ['quota_exhausted', 75, 'transient_error'],
    ['source_drifted', 4, 'system_error'],
  ] as const)('ends as its sync did: %s is exit code %d', async (code, exitCode, type) => {
    const error = { code, message: 'it was refused', hint: 'Look at it.', exitCode };
    const stream = makeStreamReport({ stream: 'items', status: 'failed', error });
    const { exitCode: ended, stdout } = await run(['airbyte', 'discover', '--config', 'sluice.yaml'], {
      engine: {
        loadSettings: () =>
          Promise.resolve({
            streams: [{ name: 'items' }],
            credentials: { secret: SECRET },
            notify: {},
            destinations: [],
            warnings: [],
          }),
        runSync: () => Promise.resolve(makeRunReport({ exitCode, status: 'failed', streams: [stream] })),
        clients: { listStreams: () => Promise.resolve([]) },
      } as never,
    });
    const message = 'nothing is synced yet, so no column is known: it was refused\nLook at it.';
    expect(JSON.parse(stdout)).toMatchObject({
      type: 'TRACE',
      trace: { error: { message, internal_message: `${code}, exit code ${exitCode}`, failure_type: type } },
    });
    expect(ended).toBe(exitCode);
  });
});
