import { afterEach, describe, expect, it } from 'vitest';
import { type Reader, startReader } from '../support/start-reader.ts';
import { createItemsFlow, makeItems } from '../support/sync-harness.ts';

const readers: Reader[] = [];
afterEach(async () => {
  await Promise.all(readers.splice(0).map((reader) => reader.close()));
});

// What must fit together in one file: rows, what the checkpoint says of them, and the run that wrote each.
const VIEW = `SELECT (SELECT count(*) FROM main.items) || ' rows, ' || (SELECT sum(rows_declared) FROM _sluice.checkpoints)
  || ' declared, version ' || (SELECT string_agg(DISTINCT version::VARCHAR, '+') FROM main.items)`;

describe('a reader that opens the published file over and over while syncs replace it', () => {
  it('sees exactly one committed state each time, and each of them whole', async () => {
    const version = (n: number) => makeItems(60 + n).map((item) => ({ ...item, version: n }));
    const flow = createItemsFlow(version(0), { stream: { write: 'replace' } });
    expect((await flow.sync()).exitCode).toBe(0);
    const reader = await startReader(flow.duckdbPath, 'OPEN_LATER');
    readers.push(reader);
    reader.tell({ task: 'open-often', sql: VIEW });
    const rounds = 8;
    for (let n = 1; n <= rounds; n += 1) {
      flow.simulator.editRecords('items', () => version(n));
      expect((await flow.sync({ force: true })).exitCode).toBe(0);
    }
    const { errors, values, opened } = await reader.ask({ task: 'stop' });
    expect(errors).toEqual([]);
    expect(opened).toBeGreaterThan(rounds);
    const committed = Array.from(
      { length: rounds + 1 },
      (_, n) => `${60 + n} rows, ${60 + n} declared, version ${n}`,
    );
    expect(values.filter((value) => !committed.includes(String(value)))).toEqual([]);
    expect(values.length).toBeGreaterThan(1);
  });
});
