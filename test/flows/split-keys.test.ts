import { describe, expect, it } from 'vitest';
import { rawJson } from '../../src/simulator/raw-json.ts';
import { createItemsFlow, DAY_MS, type Flow, noBuiltIns, streamOf } from '../support/sync-harness.ts';

/** Two values of a key's field; what the first makes the column, does not hold the second. */
const pairs: readonly (readonly [string, string, string])[] = [
  ['moments and text', '"2026-01-01T00:00:00Z"', '"unknown"'],
  [
    'moments with six decimals and with nine',
    '"2026-01-01T00:00:00.123456Z"',
    '"2026-01-01T00:00:00.123456789Z"',
  ],
  ['fractions and text', '1.5', '"x"'],
  ['long decimals and text', '0.1234567890123456789', '"x"'],
  ['whole numbers and text', '1', '"a1"'],
  ['booleans and numbers', 'true', '2'],
];

const filler = Array.from({ length: 60 }, (_, at) => ({ at: at + 1_000, date: `2026-01-0${1 + (at % 9)}` }));
const record = (id: string, v: number, date = '2026-01-30') =>
  rawJson(`{"id":${id},"date":"${date}","v":${v}}`);
/** Other values of the same kind as the first. */
const fill = (id: string) =>
  filler.map(({ at, date }) =>
    record(
      /^"\d{4}/.test(id)
        ? id.replace(/^"\d{4}/, `"${at + 2_000}`)
        : id === 'true'
          ? 'false'
          : /^\d+$/.test(id)
            ? String(at)
            : id.replace(/^(\d+)/, String(at)),
      1,
      id === 'true' ? '2026-01-01' : date,
    ),
  );

const total = async (flow: Flow) =>
  (await flow.query('SELECT count(*) AS n, sum(v) AS v FROM main.items')).map(({ n, v }) => [
    n,
    Number(v),
  ])[0];

describe('a key whose later values its column does not hold', () => {
  it.each(pairs)('identifies rows all the same: %s', async (_, a, b) => {
    const others = a === 'true' ? [] : fill(a);
    for (const history of a === 'true' ? [false, true] : [false]) {
      const flow = createItemsFlow([...others, record(a, 1)], {
        stream: { key: ['id'], cursor: { field: 'date', param: 'startDate' }, history },
      });
      const sync = async (...records: readonly unknown[]) => {
        flow.clock.stepWall(DAY_MS);
        flow.simulator.editRecords('items', () => [...others, ...records]);
        const report = await flow.sync();
        expect(report.exitCode, `${streamOf(report).error?.message} ${streamOf(report).error?.hint}`).toBe(0);
        return report;
      };
      await sync(record(a, 1));
      expect((await sync(record(a, 10), record(b, 2))).rows).toMatchObject({ inserted: 1, updated: 1 });
      expect(await total(flow)).toEqual([others.length + 2, others.length + 12]);
      const again = await sync(record(a, 10), record(b, 20));
      expect(again.rows).toMatchObject({ inserted: 0, updated: 1 });
      expect(streamOf(again).mode).toBe('incremental');
      flow.clock.stepWall(DAY_MS);
      const full = await flow.sync({ fullRefresh: true });
      expect(full.rows).toMatchObject({ inserted: 0, updated: 0, deleted: 0 });
      expect(await total(flow)).toEqual([others.length + 2, others.length + 30]);
    }
  });

  it('sends a record that has none to quarantine, and that record alone', async () => {
    const [, a, b] = pairs[0] ?? [];
    const flow = createItemsFlow([...fill(a ?? ''), record(b ?? '', 1), rawJson('{"id":null,"v":1}')], {
      stream: { key: ['id'], cursor: false },
    });
    const report = await flow.sync();
    expect(report.exitCode).toBe(0);
    expect(report.rows).toMatchObject({ quarantined: 1 });
    expect(await flow.query('SELECT record FROM _sluice.quarantine')).toEqual([
      { record: '{"id":null,"v":1}' },
    ]);
  });

  it('loses no row where both values come in two records of the same day, with deletes', async () => {
    const flow = createItemsFlow([...fill('1.5'), record('1.5', 1), record('2.5', 2)], {
      stream: { key: ['id'], cursor: false, deletes: 'hard' },
    });
    await flow.sync();
    flow.simulator.editRecords('items', () => [
      ...fill('1.5'),
      record('1.5', 1),
      record('"x"', 4),
      record('"y"', 8),
    ]);
    const report = await flow.sync({ force: true });
    expect(report.exitCode, streamOf(report).error?.message).toBe(0);
    expect(report.rows).toMatchObject({ inserted: 2, deleted: 1 });
    expect(streamOf(report).key?.columns).toEqual(['id', 'id__text']);
    expect(await total(flow)).toEqual([63, 73]);
  });

  it('counts those whose type config decides as well', async () => {
    const columns = { id: { type: 'BIGINT' as const } };
    const stream = { path: 'items', paginated: true, key: ['id'], cursor: false as const, columns };
    const records = [...fill('1'), record('"a"', 1), record('"b"', 2)];
    const flow = createItemsFlow(records, { stream });
    expect((await flow.sync()).exitCode).toBe(0);
    flow.simulator.editRecords('items', () => [...fill('1'), record('"a"', 10), record('"b"', 2)]);
    const report = await flow.sync({ force: true });
    expect(report.rows).toMatchObject({ inserted: 0, updated: 1, unchanged: 61 });
    expect(await total(flow)).toEqual([62, 72]);
    // Once the rule is gone they are the same rows.
    const plain = {
      streams: { ...noBuiltIns, items: { path: 'items', paginated: true, key: ['id'], cursor: false } },
    };
    const without = await flow.sync({ force: true, config: plain as never });
    expect(without.exitCode, streamOf(without).error?.message).toBe(0);
    expect(await total(flow)).toEqual([62, 72]);
  });
});
