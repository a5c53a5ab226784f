import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ChangePosition } from '../../src/model/client-stream.ts';
import { createChanging, receive, rekeyed } from '../support/client-flow.ts';
import { createItemsFlow, DAY_MS, type Flow } from '../support/sync-harness.ts';

/** Reads with a clock that is 40 days ahead, which is right again afterwards. */
async function receiveAhead(flow: Flow, from?: ChangePosition) {
  flow.clock.stepWall(40 * DAY_MS);
  const received = await receive(flow, from);
  flow.clock.stepWall(-40 * DAY_MS);
  return received;
}

// Destinations keep the row with the highest version.
describe('versions of rows for clients, after a clock was ahead', () => {
  it('go on from the state of a client whose log is gone', async () => {
    const { flow, edit, syncAll } = createChanging();
    await syncAll();
    const first = await receiveAhead(flow);
    edit((records) => void (records[1] = { ...records[1], name: 'changed' }));
    await syncAll();
    rmSync(join(flow.stateDir, 'changes.duckdb'));
    const second = await receive(flow, first.position);
    expect(second.isWhole).toBe(true);
    expect(second.position.version).toBeGreaterThan(first.position.version);
    expect(await receive(flow, second.position)).toMatchObject({ isWhole: false, rows: [], deleted: [] });
  });

  it('go on from the state of a client whose log is an older copy, though no row changed', async () => {
    const { flow, syncAll } = createChanging();
    await syncAll();
    await receive(flow);
    const log = join(flow.stateDir, 'changes.duckdb');
    const copy = join(flow.folder, 'copy.duckdb');
    copyFileSync(log, copy);
    const ahead = await receiveAhead(flow);
    copyFileSync(copy, log);
    const next = await receive(flow, ahead.position);
    expect(next.isWhole).toBe(true);
    expect(next.position.version).toBeGreaterThan(ahead.position.version);
  });

  it('go on from those of the log for a client that lost its state', async () => {
    const { flow, edit, syncAll } = createChanging();
    await syncAll();
    const first = await receiveAhead(flow);
    const same = await receive(flow);
    expect(same.position.version).toBeGreaterThan(first.position.version);
    edit((records) => void records.splice(5, 1));
    await syncAll();
    expect((await receive(flow)).position.version).toBeGreaterThan(same.position.version);
    // Who has a state is not sent more for it.
    expect(await receive(flow, first.position)).toMatchObject({
      isWhole: false,
      rows: [],
      deleted: [{ id: 5 }],
    });
  });

  it('go on after the key changed', async () => {
    const { flow, syncAll } = createChanging();
    await syncAll();
    const first = await receiveAhead(flow);
    flow.clock.stepWall(DAY_MS);
    await flow.sync({ fullRefresh: true, config: rekeyed });
    const second = await receive(flow, undefined, { config: rekeyed });
    expect(second.position.version).toBeGreaterThan(first.position.version);
  });

  it('go on where rows have no key', async () => {
    const same = Array.from({ length: 4 }, () => ({ name: 'alike', amount: 1.5 }));
    const flow = createItemsFlow(same, { stream: { cursor: false, write: 'replace' } });
    await flow.sync();
    const first = await receiveAhead(flow);
    const second = await receive(flow);
    expect(second.position.version).toBeGreaterThan(first.position.version);
    rmSync(join(flow.stateDir, 'changes.duckdb'));
    const third = await receive(flow, second.position);
    expect(third.position.version).toBeGreaterThan(second.position.version);
  });
});
