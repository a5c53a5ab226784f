import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { queryCopy } from '../support/published.ts';
import { countRuns } from '../support/seeds.ts';
import { createItemsFlow, DAY_MS, type Flow } from '../support/sync-harness.ts';

const DELETES = ['hard', 'soft', 'keep'] as const;
const optional = fc.option(fc.constantFrom<unknown>(1, 2, 'text', { deep: null }, { deep: 2 }), {
  nil: null,
  freq: 1,
});

/** Days of a few records each, whose fields come, go, and change their types. */
const history = fc.array(
  fc.array(
    fc.record(
      { id: fc.integer({ min: 0, max: 5 }), a: optional, b: optional, c: fc.constant(true) },
      { requiredKeys: ['id', 'a'] },
    ),
    { minLength: 1, maxLength: 4 },
  ),
  { minLength: 2, maxLength: 4 },
);

interface Column {
  readonly name: string;
  readonly comment: string;
  readonly nulls: number;
}

async function readColumns(flow: Flow): Promise<readonly Column[]> {
  const file = join(flow.stateDir, 'work.duckdb');
  const { rows } = await queryCopy(
    file,
    `SELECT column_name AS name, comment FROM duckdb_columns() WHERE table_name = 'items' AND schema_name = 'main'`,
  );
  const counts = rows.map(({ name }, at) => `count(*) FILTER ("${String(name)}" IS NULL) AS c${at}`);
  const [found = {}] = (await queryCopy(file, `SELECT ${counts.join(', ')} FROM items`)).rows;
  return rows.map(({ name, comment }, at) => ({
    name: String(name),
    comment: String(comment),
    nulls: Number(found[`c${at}`]),
  }));
}

/** The row with the null is not read again. */
const kept = [
  [
    { id: 1, a: null },
    { id: 2, a: 3 },
  ],
  [{ id: 2, a: 4 }],
];

it('comments say after each of many syncs whether a column has rows without a value', async () => {
  await fc.assert(
    fc.asyncProperty(
      history,
      fc.constantFrom(...DELETES, 'keep' as const),
      fc.boolean(),
      async (days, deletes, full) => {
        let today = days[0] ?? [];
        const flow = createItemsFlow(() => [...new Map(today.map((item) => [item.id, item])).values()], {
          stream: { key: ['id'], deletes },
        });
        for (const day of days) {
          today = day;
          await flow.sync({ fullRefresh: full, force: true });
          for (const { name, comment, nulls } of await readColumns(flow)) {
            if (comment.includes('some rows have none'))
              expect({ name, nulls }).not.toEqual({ name, nulls: 0 });
            if (comment.includes('every row has one')) expect({ name, nulls }).toEqual({ name, nulls: 0 });
          }
          flow.clock.stepWall(DAY_MS);
          flow.simulator.advanceDay();
        }
      },
    ),
    { numRuns: countRuns(20), examples: [[kept, 'keep', false]] },
  );
});
