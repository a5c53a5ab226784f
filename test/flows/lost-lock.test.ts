import { describe, expect, it } from 'vitest';
import { Database } from '../../src/warehouse/database.ts';
import { workFile } from '../../state/work-file.ts';
import { createLeaseServer } from '../support/lease.ts';
import { createItemsFlow, DAY_MS, type Flow, makeItems, streamOf } from '../support/sync-harness.ts';

const OLD = 150;
const NEW = 460;
const FIRST_DAY = '2026-01-31';
const lost = { code: 'state_locked', exitCode: 75 };

/** A project whose readers have the old rows and whose API has the new ones; leases lock its state. */
async function makeDue() {
  const leases = createLeaseServer();
  const flow = createItemsFlow((day) => makeItems(day === FIRST_DAY ? OLD : NEW));
  expect((await flow.sync({ takeLock: leases.take })).exitCode).toBe(0);
  flow.simulator.advanceDay();
  await flow.clock.sleep(DAY_MS);
  const sync = (isLost: (type: string, at: number) => boolean) => {
    let at = 0;
    return flow.sync({
      force: true,
      takeLock: leases.take,
      onProgress: ({ type }) => {
        at += 1;
        if (isLost(type, at)) leases.lose(flow.stateDir);
      },
    });
  };
  return { flow, sync };
}

/** What the work file holds: rows of the stream, and the latest run. */
async function readWork({ stateDir }: Flow) {
  const database = await Database.open({ file: workFile(stateDir), readOnly: true, folders: [] });
  try {
    const rows = await database.count('SELECT count(*) FROM items');
    const [run] = await database.all('SELECT status FROM _sluice.runs ORDER BY started_at DESC LIMIT 1');
    return { rows, status: run?.['status'] };
  } finally {
    await database.release();
  }
}

const readPublished = async (flow: Flow) => (await flow.rows('items')).length;

describe('a run whose lock is lost', () => {
  it('before its commit neither commits nor publishes, and the next one does', async () => {
    const { flow, sync } = await makeDue();
    const report = await sync((type) => type === 'page-staged');
    expect(report).toMatchObject({ exitCode: 75, error: lost });
    expect(streamOf(report)).toMatchObject({ status: 'stopped', error: lost });
    expect(report.error?.message).toMatch(/^the lock of .* was lost: another run may hold it by now$/);
    expect(await readWork(flow)).toEqual({ rows: OLD, status: 'complete' });
    expect(await readPublished(flow)).toBe(OLD);
    expect((await sync(() => false)).exitCode).toBe(0);
    expect(await readPublished(flow)).toBe(NEW);
  });

  it('after its commit writes no more into the state, not even its end, and does not publish', async () => {
    const { flow, sync } = await makeDue();
    const report = await sync((type) => type === 'stream-finished');
    expect(report).toMatchObject({ exitCode: 75, error: lost });
    expect(await readWork(flow)).toEqual({ rows: NEW, status: 'running' });
    expect(await readPublished(flow)).toBe(OLD);
  });

  it('while it publishes leaves what readers have', async () => {
    const { flow, sync } = await makeDue();
    const report = await sync((type) => type === 'publishing');
    expect(report).toMatchObject({ exitCode: 75, error: lost });
    expect(await readPublished(flow)).toBe(OLD);
    expect((await sync(() => false)).exitCode).toBe(0);
    expect(await readPublished(flow)).toBe(NEW);
  });

  it('at any event changes nothing that readers have from then on', async () => {
    const events: string[] = [];
    const whole = await makeDue();
    await whole.sync((type) => events.push(type) < 0);
    const end = events.indexOf('published') + 1;
    expect(end).toBeGreaterThan(5);
    for (let at = 1; at < end; at += 1) {
      const { flow, sync } = await makeDue();
      const report = await sync((_, now) => now === at);
      expect([at, events[at - 1], report.exitCode, await readPublished(flow)]).toEqual([
        at,
        events[at - 1],
        75,
        OLD,
      ]);
    }
  });
});
