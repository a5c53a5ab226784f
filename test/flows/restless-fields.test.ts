import { describe, expect, it } from 'vitest';
import { createRowsFlow, type Row } from '../support/rows-api.ts';
import { streamOf } from '../support/sync-harness.ts';

const rows = () =>
  Array.from({ length: 450 }, (_, id) => ({ id, date: '2026-01-31', score: id / 4, tags: ['a', 'b'] }));

describe('a field that differs at every answer', () => {
  it.each<[string, string, (row: Row, request: number) => Row]>([
    ['a time of the answer', 'servedAt', (row, request) => ({ ...row, servedAt: `at ${request}` })],
    [
      'a list in another order',
      'tags',
      (row, request) => ({ ...row, tags: [...'abcdefg'].map((_, at, all) => all[(at + request) % 7]) }),
    ],
    [
      'a number that is not steady',
      'score',
      (row, request) => ({ ...row, score: Number(row['score']) + request / 1e9 }),
    ],
  ])('is named, with what cures it: %s', async (_, field, send) => {
    const flow = createRowsFlow({ rows, send });
    const report = await flow.syncAfter(0);
    expect(report.exitCode).toBe(4);
    const { message = '', hint = '' } = streamOf(report).error ?? {};
    expect(message).toContain(`(${field})`);
    expect(hint).toContain(`"${field}": { exclude: true }`);
    const cured = createRowsFlow({ rows, send }, { columns: { [field]: { exclude: true } } });
    expect(streamOf(await cured.syncAfter(0))).toMatchObject({ verdict: 'verified', rowsInTable: 450 });
  });

  it('is not blamed where the data moves', async () => {
    const send = (row: Row, request: number): Row => ({ ...row, id: Number(row['id']) + request });
    const flow = createRowsFlow({
      rows: () => rows().map(({ id }) => ({ id, name: `n${id}` })),
      send: (row, n) => ({ ...send(row, n), name: `n${n}` }),
    });
    const { error } = streamOf(await flow.syncAfter(0));
    expect(error?.code).toBe('source_drifted');
    expect(error?.hint).toContain('Run again when the source is not being refreshed');
  });
});
