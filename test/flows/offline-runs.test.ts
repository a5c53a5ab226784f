import { copyFileSync, cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readRunFile } from '../../state/run-file.ts';
import { retryQuarantine } from '../../src/commands/contracts/retry-quarantine.ts';
import { importState, resetState } from '../../src/commands/state/change-state.ts';
import { readState } from '../../src/commands/state/read-state.ts';
import { removeContractFile, writeContractFile } from '../support/contract-flow.ts';
import { changeFile, damageBlocksOf } from '../support/damage-file.ts';
import {
  createItemsFlow,
  type Flow,
  HOUR_MS,
  makeFolder,
  makeItem,
  makeItems,
  START_MS,
} from '../support/sync-harness.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

// Enough for blocks of their own.
const items = makeItems(1_000).map((item) => ({ ...item, note: `${(item.id * 2_654_435_761) % 2 ** 32}` }));
const bad = items.filter(({ amount }) => amount > 900);
const workFile = (flow: Flow) => join(flow.stateDir, 'work.duckdb');
const agree = () => Promise.resolve(true);

interface Ended {
  readonly warnings: readonly string[];
  readonly exitCode?: number;
  readonly error?: unknown;
}

/** Every command that changes what is published without asking the API, with something to do. */
const commands: Readonly<Record<string, (flow: Flow) => Promise<Ended>>> = {
  'state reset': (flow) => resetState(flow.settings(), { confirm: agree, clock: flow.clock }),
  'state import': async (flow) => {
    const settings = flow.settings();
    const { state } = await readState(
      { ...settings, stateDir: join(flow.folder, 'none') },
      { clock: flow.clock },
    );
    const checkpoints = state.checkpoints.map((one) => ({ ...one, watermark: '2026-01-02' }));
    const text = JSON.stringify({ ...state, checkpoints });
    return importState(settings, text, { confirm: agree, clock: flow.clock });
  },
  'quarantine retry': (flow) => retryQuarantine(flow.settings(), { clock: flow.clock }),
  rebuild: (flow) => flow.rebuild(),
};

const options = {
  stream: { key: ['id'], cursor: { field: 'date', param: 'startDate' }, maxInvalidRatio: 0.5 },
  endpoint: { dateField: 'date' },
};
let synced: Promise<string> | undefined;

async function makeSynced(): Promise<string> {
  const flow = createItemsFlow(items, options);
  const properties = { amount: { maximum: 900 }, id: {}, date: {}, name: {}, note: {} };
  writeContractFile(flow, { type: 'object', properties });
  expect(await flow.sync()).toMatchObject({ exitCode: 0, rows: { quarantined: bad.length } });
  removeContractFile(flow);
  return flow.folder;
}

/** A project with an archive, a watermark, and records in quarantine that its contract would allow by now. */
async function createSynced(): Promise<Flow> {
  synced ??= makeSynced();
  const folder = makeFolder();
  cpSync(await synced, folder, { recursive: true });
  const clock = createVirtualClock({ startMs: START_MS + HOUR_MS });
  return createItemsFlow(items, { ...options, folder, clock });
}

const countRows = (flow: Flow) => flow.query('SELECT count(*) AS n FROM main.items');
const rowsAfter = (name: string) => [
  { n: name === 'quarantine retry' || name === 'rebuild' ? items.length : items.length - bad.length },
];

describe.each(Object.entries(commands))('%s', (name, command) => {
  it('publishes nothing of a damaged work file: it is restored, and the work done and recorded on that', async () => {
    const flow = await createSynced();
    await damageBlocksOf(workFile(flow), 'items');
    const report = await command(flow);
    expect(report.error).toBeUndefined();
    expect(report.warnings).toEqual([expect.stringMatching(/is damaged: .+ the state is restored from /)]);
    expect(await countRows(flow)).toEqual(rowsAfter(name));
    const [last] = readRunFile(flow.stateDir);
    expect(last).toMatchObject({
      status: 'complete',
      requests: 0,
      streams: [{ stream: 'items', status: 'complete' }],
    });
    const runs = await flow.query('SELECT run_id, status FROM _sluice.runs ORDER BY started_at DESC LIMIT 1');
    expect(runs).toEqual([{ run_id: last?.runId, status: 'complete' }]);
    const parts = await flow.query(`SELECT stream FROM _sluice.stream_runs WHERE run_id = '${last?.runId}'`);
    expect(parts).toEqual([{ stream: 'items' }]);
  });

  it('is refused with 6 where a table is lost, and what is published stays', async () => {
    const flow = await createSynced();
    await changeFile(workFile(flow), 'CREATE TABLE main.other AS FROM main.items; DROP TABLE main.items');
    const published = readFileSync(flow.duckdbPath);
    const call = command(flow);
    // Such a table comes from a rebuild.
    if (name === 'rebuild') expect(await call).toMatchObject({ exitCode: 0 });
    else {
      await expect(call).rejects.toMatchObject({
        exitCode: 6,
        code: 'state_damaged',
        message: expect.stringContaining('the table items is gone') as unknown,
      });
      expect(readFileSync(flow.duckdbPath).equals(published)).toBe(true);
    }
    if (name === 'rebuild') expect(await countRows(flow)).toEqual(rowsAfter(name));
  });

  it('restores what an older copy of the work file took the place of, by what is published alone', async () => {
    const flow = await createSynced();
    const older = join(flow.folder, 'older');
    copyFileSync(workFile(flow), older);
    flow.simulator.editRecords('items', (records) => [...records, { ...makeItem(5_000), note: '' }]);
    expect(await flow.sync({ force: true, fullRefresh: true })).toMatchObject({
      rows: { inserted: 1 + bad.length },
    });
    copyFileSync(older, workFile(flow));
    rmSync(join(flow.stateDir, 'published.json'));
    const report = await command(flow);
    expect(report.warnings).toEqual([
      expect.stringMatching(/is older than what is published in .+ the state is restored from /),
    ]);
    expect(await countRows(flow)).toEqual([{ n: items.length + 1 }]);
  });
});
