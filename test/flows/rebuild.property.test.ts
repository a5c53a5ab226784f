import fc from 'fast-check';
import { expect, it } from 'vitest';
import { verifyState } from '../../src/commands/verify/verify.ts';
import { countRuns } from '../support/seeds.ts';
import { createItemsFlow, DAY_MS, type Flow, type FlowConfig, makeItems } from '../support/sync-harness.ts';

type StreamInput = NonNullable<FlowConfig['streams']>[string];

interface Step {
  readonly edit: 'insert' | 'delete' | 'restate' | 'widen' | 'oddity' | 'newField' | 'back' | 'none';
  readonly at: number;
  readonly run: 'plain' | 'full' | 'limit' | 'from';
}

const step: fc.Arbitrary<Step> = fc.record({
  edit: fc.constantFrom('insert', 'delete', 'restate', 'widen', 'oddity', 'newField', 'back', 'none'),
  at: fc.integer({ min: 0, max: 39 }),
  run: fc.constantFrom('plain', 'plain', 'full', 'limit', 'from'),
});

const config: fc.Arbitrary<StreamInput> = fc.record({
  cursor: fc.constantFrom<'auto' | false>('auto', 'auto', false),
  deletes: fc.constantFrom('keep', 'soft', 'hard'),
  history: fc.boolean(),
  key: fc.constantFrom<'auto' | string[]>('auto', ['id']),
  write: fc.constantFrom('merge', 'merge', 'replace', 'append'),
  maxDeleteRatio: fc.constant(1),
  maxInvalidRatio: fc.constant(1),
});

let nextId = 1_000;
const gone: unknown[] = [];

function edit(records: readonly unknown[], { edit: what, at }: Step): readonly unknown[] {
  const other = (change: object) =>
    records.map((record, index) => (index === at ? { ...(record as object), ...change } : record));
  switch (what) {
    case 'insert':
      return [...records.slice(0, at), ...makeItems(3, { from: (nextId += 3) }), ...records.slice(at)];
    case 'delete':
      gone.push(...records.slice(at, at + 4));
      return records.toSpliced(at, 4);
    case 'back':
      return [...records, ...gone.splice(0, 2)];
    case 'restate':
      return other({ name: `restated ${(nextId += 1)}` });
    case 'widen':
      return other({ amount: 'many' });
    case 'newField':
      return other({ note: { text: `note ${(nextId += 1)}` } });
    case 'oddity':
      return records.toSpliced(at, 0, [`no record ${(nextId += 1)}`]);
    case 'none':
      return records;
  }
}

const all = (flow: Flow, sql: string) =>
  flow.query(sql).then((rows) => rows.map((row) => JSON.stringify(row)).toSorted());

async function readEverything(flow: Flow, history: boolean) {
  return {
    rows: await all(flow, 'SELECT * FROM main.items'),
    contract: await all(flow, 'SELECT * EXCLUDE (run_id) FROM _sluice.contracts'),
    checkpoint: await all(flow, 'SELECT * FROM _sluice.checkpoints'),
    quarantine: await all(flow, 'SELECT * FROM _sluice.quarantine'),
    streamRuns: await all(flow, `SELECT * FROM _sluice.stream_runs WHERE mode IS DISTINCT FROM 'rebuild'`),
    changes: await all(flow, 'SELECT * FROM _sluice.schema_changes'),
    history: history ? await all(flow, 'SELECT * FROM main.items_history') : [],
  };
}

// Without an id, rows come more than once and no set of fields is a key.
const rows = makeItems(40, { perDay: 2 });
const keyless = rows.map(({ id, date }) => ({ date, kind: id % 3 }));

/** What `verify` complains of: nothing, after whatever a sync or a rebuild did. */
async function findFaults(flow: Flow) {
  const { items } = await verifyState(flow.settings(), { clock: flow.clock });
  return items.filter(({ status }) => status === 'failed');
}

it('leaves what any row of syncs left, whatever they did', async () => {
  const steps = fc.array(step, { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(config, steps, fc.boolean(), async (given, steps, hasKey) => {
      gone.length = 0;
      const stream: StreamInput = hasKey ? given : { ...given, key: 'auto' };
      const flow = createItemsFlow(hasKey ? rows : keyless, { stream, endpoint: { dateField: 'date' } });
      expect((await flow.sync()).exitCode).toBe(0);
      for (const one of steps) {
        flow.simulator.editRecords('items', (records) => edit(records, one));
        await flow.clock.sleep(DAY_MS);
        flow.simulator.advanceDay();
        await flow.sync({
          ...(one.run === 'full' && { fullRefresh: true }),
          ...(one.run === 'limit' && { limit: 20 }),
          ...(one.run === 'from' && { from: '2026-01-10' }),
        });
      }
      const before = await readEverything(flow, stream.history === true);
      expect(await findFaults(flow)).toEqual([]);
      const rebuilt = await flow.rebuild();
      expect(rebuilt).toMatchObject({ exitCode: 0, streams: [{ rowsKept: 0 }] });
      expect(await readEverything(flow, stream.history === true)).toEqual(before);
      expect(await findFaults(flow)).toEqual([]);
    }),
    { numRuns: countRuns(4) },
  );
}, 240_000);
