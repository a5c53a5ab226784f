import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

interface TapCall {
  readonly args?: readonly string[];
  readonly cwd?: string;
}

/** Runs the tap over one stream with a row. */
async function runTap(delivery: Partial<StreamDelivery>, { args = [], cwd = '/nowhere' }: TapCall = {}) {
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
  const { exitCode, stdout, stderr } = await run(['singer', '--config', 'sluice.yaml', ...args], {
    cwd,
    engine: {
      loadSettings: () => Promise.resolve(settings),
      runSync: () => Promise.resolve(makeRunReport({ streams: [makeStreamReport({ stream: 'items' })] })),
      clients: {
        withChanges: (_: unknown, __: unknown, read: (reader: ChangeReader) => unknown) => read(reader),
      },
    } as never,
  });
  const lines = stdout.trimEnd().split('\n');
  return {
    exitCode,
    stderr,
    messages: lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>),
  };
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

describe('a state file', () => {
  it.each([
    ['', 'warning: the state file state.json is empty: all rows are sent'],
    ['{"streams":[]}', 'warning: the state was not written by Sluice: rows may be sent again'],
    ['{}', undefined],
    ['{"bookmarks":{}}', undefined],
  ])('with %j: %s', async (text, warning) => {
    const cwd = mkdtempSync(join(tmpdir(), 'sluice-state-'));
    try {
      writeFileSync(join(cwd, 'state.json'), text);
      const { exitCode, stderr } = await runTap({}, { args: ['--state', 'state.json'], cwd });
      expect(exitCode).toBe(0);
      expect(stderr.split('\n').find((line) => line.startsWith('warning: the state'))).toBe(warning);
    } finally {
      rmSync(cwd, { recursive: true, force: true });
    }
  });
});
