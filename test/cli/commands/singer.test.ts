import { describe, expect, it } from 'vitest';
import type { ChangeReader } from '../../../src/commands/clients/read-changes.ts';
import type { ClientStream, StreamDelivery } from '../../../src/model/client-stream.ts';
import { run } from '../support/capture.ts';
import { SECRET } from '../support/fake-engine.ts';
import { makeRunReport, makeStreamReport, NOW_MS } from '../support/reports.ts';

const stream: ClientStream = {
  name: 'items',
  table: 'items',
  columns: [{ name: 'id', type: 'BIGINT' }],
  key: ['id'],
  cursor: undefined,
  masks: '',
};

/** Runs the tap over one stream with a row. */
async function runTap(delivery: Partial<StreamDelivery>) {
  const settings = {
    streams: [{ name: 'items' }],
    credentials: { secret: SECRET },
    notify: {},
    destinations: [],
    warnings: [],
  };
  const whole: StreamDelivery = {
    stream,
    isWhole: true,
    again: undefined,
    position: { log: 'one', version: NOW_MS },
    // eslint-disable-next-line @typescript-eslint/require-await -- as the engine gives it
    rows: (async function* () {
      yield [{ members: '"id":1', deletedAt: undefined }];
    })(),
    ...delivery,
  };
  const reader: ChangeReader = { streams: [stream], deliver: () => Promise.resolve(whole) };
  const { exitCode, stdout } = await run(['singer', '--config', 'sluice.yaml'], {
    engine: {
      loadSettings: () => Promise.resolve(settings),
      runSync: () => Promise.resolve(makeRunReport({ streams: [makeStreamReport({ stream: 'items' })] })),
      clients: {
        withChanges: (_: unknown, __: unknown, read: (reader: ChangeReader) => unknown) => read(reader),
      },
    } as never,
  });
  const lines = stdout.trimEnd().split('\n');
  return { exitCode, messages: lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>) };
}

describe('a tap', () => {
  it('sends a whole table under the version of the log, which the clock may be behind', async () => {
    const version = NOW_MS + 40 * 86_400_000;
    const { exitCode, messages } = await runTap({ position: { log: 'one', version } });
    expect(exitCode).toBe(0);
    expect(messages).toMatchObject([
      { type: 'SCHEMA' },
      { type: 'RECORD', version },
      { type: 'ACTIVATE_VERSION', version },
      { type: 'STATE', value: { bookmarks: { items: { version, table_version: version } } } },
    ]);
  });
});
