import { describe, expect, it } from 'vitest';
import { createRowsFlow, dateOf, type Row } from '../support/rows-api.ts';
import { streamOf } from '../support/sync-harness.ts';

const DAYS = 12;
const PER_DAY = 3;

/** Rows of days, each day the same number; from a day on, every row that is sent breaks the contract. */
function listRows(day: number, brokenFrom: number): readonly Row[] {
  return Array.from({ length: (DAYS + day) * PER_DAY }, (_, at) => {
    const id = at % PER_DAY;
    const score = day >= brokenFrom ? `broken ${at}` : at;
    return { date: dateOf(Math.floor(at / PER_DAY) - DAYS + 1), id, score };
  });
}

const keyed = {
  cursor: { field: 'date', param: 'startDate' },
  contract: { types: 'discard_row' },
  maxInvalidRatio: 1,
  maxDeleteRatio: 1,
} as const;

describe('a source whose records all break the contract from a day on', () => {
  it.each([
    ['a learned key', {}],
    ['a configured key', { key: ['date', 'id'] }],
    ['a learned key, with deletes', { deletes: 'hard' }],
    ['a learned key and a learned cursor', { cursor: 'auto' }],
    ['a table that is replaced', { write: 'replace', key: ['date', 'id'] }],
  ] as const)('loses no row with %s, in syncs of either kind', async (_, stream) => {
    const api = createRowsFlow({ rows: (day) => listRows(day, 1) }, { ...keyed, ...stream });
    expect((await api.syncAfter(0)).exitCode).toBe(0);
    const read = () => api.flow.query('SELECT date::VARCHAR AS date, id, score FROM items ORDER BY ALL');
    const before = await read();
    expect(before).toHaveLength(DAYS * PER_DAY);
    const checkpoint = async () =>
      (await api.flow.query('SELECT key_fields, cursor_field FROM _sluice.checkpoints')).map((row) => ({
        ...row,
      }));
    const learned = await checkpoint();
    for (const fullRefresh of [false, true, false]) {
      const report = await api.syncAfter(1, { fullRefresh });
      const { verdict, rows, reasons } = streamOf(report);
      expect([report.exitCode, verdict, rows.quarantined > 0, rows.deleted]).toEqual([
        0,
        'verified',
        true,
        0,
      ]);
      expect(reasons.join('\n')).not.toMatch(/any more|no set of fields|honour/);
      expect(await read()).toEqual(before);
      expect(await checkpoint()).toEqual(learned);
    }
  });

  it('keeps a table without a key, and replaces it once rows come again', async () => {
    let brokenFrom = 1;
    const rows = (day: number) =>
      listRows(day, brokenFrom).map(({ date, score }) => ({
        date,
        score: String(score).startsWith('broken') ? score : 1,
      }));
    const api = createRowsFlow({ rows }, { ...keyed, cursor: false });
    expect((await api.syncAfter(0)).exitCode).toBe(0);
    const count = () => api.flow.query('SELECT count(*)::INT AS rows FROM items');
    expect(await count()).toEqual([{ rows: DAYS * PER_DAY }]);
    const broken = await api.syncAfter(1);
    expect([broken.exitCode, streamOf(broken).rows.quarantined]).toEqual([0, (DAYS + 1) * PER_DAY]);
    expect(await count()).toEqual([{ rows: DAYS * PER_DAY }]);
    brokenFrom = 99;
    expect((await api.syncAfter(1)).exitCode).toBe(0);
    expect(await count()).toEqual([{ rows: (DAYS + 2) * PER_DAY }]);
  });

  it('says of a refused scan that its records broke the contract, and that none went to quarantine', async () => {
    const half = (day: number) =>
      listRows(day, 1).map(({ date, score }, at) => ({
        date,
        score: day > 0 && at % 2 === 0 ? 1 : score === at ? 1 : score,
      }));
    const api = createRowsFlow({ rows: half }, { ...keyed, cursor: false, maxDeleteRatio: 0.2 });
    expect((await api.syncAfter(0)).exitCode).toBe(0);
    const report = await api.syncAfter(1);
    expect(report.exitCode).toBe(4);
    const { error } = streamOf(report);
    expect(error?.code).toBe('deletes_refused');
    expect(error?.hint).toMatch(/records of this scan break the contract[^]*contracts\/items\.schema\.json/);
    expect(report.warnings.join()).not.toContain('_sluice.quarantine');
    expect(await api.flow.query('SELECT count(*)::INT AS rows FROM _sluice.quarantine')).toEqual([
      { rows: 0 },
    ]);
  });
});
