import { describe, expect, it } from 'vitest';
import { rawJson } from '../../src/simulator/raw-json.ts';
import { createItemsFlow, DAY_MS, streamOf } from '../support/sync-harness.ts';

const others = Array.from({ length: 60 }, (_, at) => rawJson(`{"id":"x${at}","v":0}`));
const row = (id: string, v: number) => rawJson(`{"id":${id},"v":${v}}`);
const stream = { key: ['id'], cursor: false } as const;

describe('keys that differ in the API and are one in the table', () => {
  it.each([
    ['a number and the same text', '1', '"1"'],
    ['two halves of a character', '"a\\ud800"', '"a\\ud801"'],
    ['true and its text', 'true', '"true"'],
  ])('lose no record: %s', async (_, kept, other) => {
    for (const pair of [
      [row(kept, 1), row(other, 2)],
      [row(other, 2), row(kept, 1)],
    ]) {
      const flow = createItemsFlow([...others, ...pair], { stream });
      for (let day = 0; day < 2; day += 1) {
        const report = await flow.sync({ force: true });
        expect(report.exitCode, report.error?.message).toBe(0);
        expect(streamOf(report)).toMatchObject({ verdict: 'verified', rows: { read: 62, quarantined: 1 } });
        expect(report.warnings.join()).toMatch(
          /1 record went to _sluice\.quarantine: id is the same text in the table as another record's/,
        );
        expect(report.warnings.join()).not.toMatch(/have the key of another row|has the key of another row/);
        expect(await flow.query('SELECT count(*) AS n FROM _sluice.quarantine')).toEqual([{ n: 1 }]);
        expect(await flow.query('SELECT count(*) AS n FROM main.items')).toEqual([{ n: 61 }]);
        flow.clock.stepWall(DAY_MS);
      }
      flow.simulator.editRecords('items', () => [...others, pair[1]]);
      const alone = await flow.sync({ force: true });
      expect(alone.rows).toMatchObject({ quarantined: 0 });
      expect(
        await flow.query('SELECT count(*) AS n FROM _sluice.quarantine WHERE absent_since IS NULL'),
      ).toEqual([{ n: 0 }]);
    }
  });

  it('stay apart in an incremental scan that brings the one of them that has no row', async () => {
    const days = others.map((_, at) => ({ id: `x${at}`, date: `2026-01-${10 + (at % 20)}`, v: 0 }));
    const number = { id: 1, date: '2026-01-20', v: 1 };
    const text = { id: '1', date: '2026-01-29', v: 2 };
    const flow = createItemsFlow([...days, number, text], {
      endpoint: { dateField: 'date' },
      stream: { key: ['id'], maxInvalidRatio: 0.2 },
    });
    await flow.sync();
    flow.simulator.editRecords('items', () => [...days, number, { ...text, v: 7 }]);
    flow.clock.stepWall(DAY_MS);
    const report = await flow.sync();
    expect(streamOf(report)).toMatchObject({
      mode: 'incremental',
      verdict: 'verified',
      rows: { quarantined: 1 },
    });
    expect(await flow.query("SELECT v FROM main.items WHERE id = '1'")).toEqual([{ v: 1 }]);
  });

  it('are distinguished by all fields of the key in an incremental scan', async () => {
    const days = others.map((_, at) => ({ id: `x${at}`, date: `2026-01-${10 + (at % 20)}`, v: 0 }));
    const pair = [
      { id: 1, date: '2026-01-29', v: 1 },
      { id: '1', date: '2026-01-29', v: 2 },
    ];
    const text = { id: '1', date: '2026-01-30', v: 5 };
    const flow = createItemsFlow([...days, ...pair, text], {
      endpoint: { dateField: 'date' },
      stream: { key: ['id', 'date'], maxInvalidRatio: 0.3 },
    });
    await flow.sync();
    const added = { id: '1', date: '2026-01-31', v: 8 };
    flow.simulator.editRecords('items', () => [...days, ...pair, { ...text, v: 77 }, added]);
    flow.clock.stepWall(DAY_MS);
    expect(streamOf(await flow.sync())).toMatchObject({ mode: 'incremental', rows: { quarantined: 1 } });
    expect(await flow.query("SELECT v FROM main.items WHERE id = '1' ORDER BY date")).toEqual([
      { v: 1 },
      { v: 77 },
      { v: 8 },
    ]);
  });

  it('are the source’s own where the same key comes twice', async () => {
    const flow = createItemsFlow([...others, row('"a"', 1), row('"a"', 2)], { stream });
    const report = await flow.sync();
    expect(streamOf(report)).toMatchObject({ verdict: 'unverified', rows: { quarantined: 0 } });
    expect(report.warnings.join()).toMatch(/1 row has the key of another row; the last one counts/);
  });
});
