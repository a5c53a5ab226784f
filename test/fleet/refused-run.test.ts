import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AccountRun, type LaneTools } from '../../src/fleet/run/run-account.ts';
import type { LaneQuestion, LaneRun } from '../../src/fleet/run/messages.ts';
import type { StateStore } from '../../src/fleet/store/state-store.ts';
import type { ProgressEvent } from '../../src/model/progress.ts';
import type { RunReport } from '../../src/model/run-report.ts';
import type { Settings } from '../../src/model/settings.ts';
import { makeFolder } from '../support/sync-harness.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const laneRun: LaneRun = {
  account: 'acme',
  token: 3,
  isTakeover: false,
  acceptsNewKey: false,
  object: 'acme/2-1.state',
  stages: [],
  quotas: [],
  sharesKey: false,
  alike: [],
};
const settings = {
  stateDir: '/state',
  destinations: [],
  retention: {},
  reach: { extensions: { folder: '/extensions', installs: false } },
  readersFile: undefined,
} as unknown as Settings;

/** A run that reads a page and puts it away, its worker's answers, and the names in its store. */
function beginRun(answer: (question: LaneQuestion) => boolean) {
  const names = new Set(['acme/2-1.state']);
  const store = {
    place: 'a store',
    put: (name: string) => Promise.resolve(names.add(name)),
    get: () => Promise.resolve(true),
    remove: (gone: readonly string[]) => Promise.resolve(gone.forEach((name) => names.delete(name))),
  } as unknown as StateStore;
  const pack = (_: string, { file }: { readonly file: string }) => {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, 'packed');
    return Promise.resolve();
  };
  const runSync: LaneTools['runSync'] = async ({ stateDir }, { observers, takeLock }) => {
    mkdirSync(join(stateDir, 'stage', 'prompts'), { recursive: true });
    for (const observer of observers) observer.onEvent?.({ type: 'page-staged' } as ProgressEvent);
    const { lease } = await takeLock('/state', '2026-01-01T00:00:00Z');
    await lease?.confirm();
    return { exitCode: 75, streams: [] } as unknown as RunReport;
  };
  const tools = {
    store,
    parcels: { pack, packStage: pack, unpack: () => Promise.resolve() },
    clock: createVirtualClock(),
    readClockLead: () => Promise.resolve(0),
    scratch: makeFolder(),
    extensions: '/extensions',
    putEveryPages: 1,
    loadSettings: () => Promise.resolve(settings),
    runSync,
    followTraces: () => [],
    takeTraceWarnings: () => [],
    notify: () => Promise.resolve([]),
  } as unknown as LaneTools;
  const run = new AccountRun(tools, laneRun, {
    ask: (question) => Promise.resolve(answer(question)),
    lost: new AbortController().signal,
    stop: new AbortController().signal,
  });
  return { run, names };
}

describe('a run that is refused', () => {
  it('leaves the pages that were recorded with the account, on which its next run counts', async () => {
    const { run, names } = beginRun(({ kind }) => kind === 'stages');
    await run.execute();
    expect([...names]).toEqual(['acme/2-1.state', 'acme/3-1.pages']);
    await run.cleanUp(false);
    expect([...names]).toEqual(['acme/2-1.state', 'acme/3-1.pages']);
  });

  it('removes the state that it has put away, which nothing names', async () => {
    const { run, names } = beginRun(() => true);
    expect(await run.execute()).toMatchObject({ exitCode: 75, object: { name: 'acme/3-2.state' } });
    await run.cleanUp(false);
    expect([...names]).toEqual(['acme/2-1.state', 'acme/3-1.pages']);
  });
});

describe('a run whose end was committed', () => {
  it('removes what its state replaced, and the pages that are in it', async () => {
    const { run, names } = beginRun(() => true);
    await run.execute();
    await run.cleanUp(true);
    expect([...names]).toEqual(['acme/3-2.state']);
  });

  it('keeps all of it where no state was put away', async () => {
    const { run, names } = beginRun(({ kind }) => kind === 'stages');
    await run.execute();
    await run.cleanUp(true);
    expect([...names]).toEqual(['acme/2-1.state', 'acme/3-1.pages']);
  });
});
