import { describe, expect, it } from 'vitest';
import {
  createItemsFlow,
  DAY_MS,
  type Flow,
  type FlowConfig,
  HOUR_MS,
  noBuiltIns,
  START_MS,
} from '../support/sync-harness.ts';

// Whatever rules a table is rebuilt by: its history says of the past what it said before.

type StreamInput = NonNullable<FlowConfig['streams']>[string];

const base: StreamInput = {
  cursor: false,
  key: ['id'],
  history: true,
  maxDeleteRatio: 1,
  maxInvalidRatio: 1,
};
const configOf = (stream: StreamInput): FlowConfig => ({
  defaults: { hashKey: 'a key of 16 letters' },
  streams: { ...noBuiltIns, items: { path: 'items', paginated: true, ...base, ...stream } },
});
const row = (id: number, day: number, amount: unknown, more: object = {}) => ({
  id,
  date: `2026-01-0${day}`,
  name: `item ${id}`,
  amount,
  ...more,
});

/** Serves these records from the next day on, and reads all of them. */
async function resync(flow: Flow, records: readonly unknown[], stream: StreamInput = {}): Promise<void> {
  flow.simulator.editRecords('items', () => records);
  await flow.clock.sleep(DAY_MS);
  const report = await flow.sync({ config: configOf(stream), fullRefresh: true });
  expect(report.exitCode, report.streams[0]?.error?.message).toBe(0);
}

// What no change of the rules below changes about a row.
const VALUES = `id || ' ' || date::VARCHAR || ' ' || coalesce(regexp_replace(amount::VARCHAR, '[.]0$|"', '', 'g'), 'null')`;

/** The rows as of each six hours since the start. */
async function readPast(flow: Flow): Promise<readonly string[]> {
  const start = new Date(START_MS).toISOString();
  const now = new Date(flow.clock.now()).toISOString();
  const moments = `generate_series(TIMESTAMPTZ '${start}', TIMESTAMPTZ '${now}', INTERVAL 6 HOUR)`;
  const rows = await flow.query(
    `SELECT strftime(moment, '%m-%d %H') || ': ' || string_agg(${VALUES}, ', ' ORDER BY ${VALUES}) AS past
       FROM (SELECT unnest(${moments}) AS moment) JOIN main.items_history
         ON _valid_from <= moment AND (_valid_to > moment OR _valid_to IS NULL)
      GROUP BY moment ORDER BY moment`,
  );
  return rows.map(({ past }) => String(past));
}

/** What is wrong with the history, whatever the table went through. */
async function findFaults(flow: Flow) {
  const { columns } = await flow.table('items');
  const isMarkable = columns['_deleted_at'] !== undefined;
  const names = Object.keys(columns).filter((name) => name !== '_synced_at' && name !== '_deleted_at');
  const rows = `SELECT ${names.join(', ')}, _synced_at FROM main.items ${isMarkable ? 'WHERE _deleted_at IS NULL' : ''}`;
  const open = `SELECT ${names.join(', ')}, _valid_from FROM main.items_history WHERE _valid_to IS NULL`;
  const history = Object.keys((await flow.table('items_history')).columns);
  const former = history.filter(
    (name) => !names.includes(name) && !/^_(valid|slice|synced|deleted)/.test(name),
  );
  const left = former.map((name) => `"${name}" IS NOT NULL`).join(' OR ') || 'false';
  const [faults] = await flow.query(`SELECT
    (SELECT count(*) FROM main.items_history WHERE _valid_to IS NULL AND (${left})) AS left_values,
    (SELECT count(*) FROM main.items_history WHERE _valid_to <= _valid_from) AS empty,
    (SELECT count(*) FROM main.items_history a JOIN main.items_history b USING (id, date)
      WHERE a.rowid < b.rowid AND a._valid_from < coalesce(b._valid_to, 'infinity')
        AND b._valid_from < coalesce(a._valid_to, 'infinity')) AS doubled,
    (SELECT count(*) FROM (${rows} EXCEPT ALL ${open})) AS rows_without,
    (SELECT count(*) FROM (${open} EXCEPT ALL ${rows})) AS versions_without`);
  return faults;
}

const none = { left_values: 0, empty: 0, doubled: 0, rows_without: 0, versions_without: 0 };

/** Rebuilds by these rules, hours after the last change; the past must stay. */
async function rebuild(flow: Flow, stream: StreamInput): Promise<void> {
  await flow.clock.sleep(7 * HOUR_MS);
  const before = await readPast(flow);
  const report = await flow.rebuild({ config: configOf(stream) });
  expect(report.exitCode, report.streams[0]?.error?.message).toBe(0);
  expect(await readPast(flow)).toEqual(before);
  expect(await findFaults(flow)).toEqual(none);
}

/** Rebuilds once more by the same rules: no version changes. */
async function rebuildAgain(flow: Flow, stream: StreamInput): Promise<void> {
  const versions = () => flow.query('SELECT * FROM main.items_history ORDER BY ALL');
  const rebuilt = await versions();
  await flow.clock.sleep(HOUR_MS);
  expect((await flow.rebuild({ config: configOf(stream) })).exitCode).toBe(0);
  expect(await versions()).toEqual(rebuilt);
}

/** The versions as `id score from-to`, by days and hours. */
async function versionsOf(flow: Flow): Promise<readonly string[]> {
  const hour = (time: string) => `coalesce(strftime(${time}, '%m-%d %H'), 'now')`;
  const rows = await flow.query(
    `SELECT ${VALUES} || ' from ' || ${hour('_valid_from')} || ' to ' || ${hour('_valid_to')} AS version
     FROM main.items_history ORDER BY id, _valid_from, _valid_to NULLS LAST`,
  );
  return rows.map(({ version }) => String(version));
}

describe('a rebuild by other rules', () => {
  it('begins the versions of rows that it brings back with itself', async () => {
    const flow = createItemsFlow([row(1, 1, 10), row(2, 2, 20)], { config: configOf({}) });
    await flow.sync();
    await resync(flow, [row(1, 3, 10), row(2, 2, 20)]);
    await rebuild(flow, { key: ['id', 'date'] });
    await rebuildAgain(flow, { key: ['id', 'date'] });
    expect(await versionsOf(flow)).toEqual([
      '1 2026-01-01 10 from 01-31 12 to 02-01 12',
      '1 2026-01-03 10 from 02-01 12 to now',
      '1 2026-01-01 10 from 02-01 19 to now',
      '2 2026-01-02 20 from 01-31 12 to now',
    ]);
    await resync(flow, [row(1, 3, 10), row(2, 2, 21)], { key: ['id', 'date'], deletes: 'hard' });
    expect(await findFaults(flow)).toEqual(none);
  });

  it('closes the versions of rows that it drops with itself', async () => {
    const flow = createItemsFlow([row(1, 1, 10)], { config: configOf({}) });
    await flow.sync();
    await resync(flow, [row(1, 3, 10), row(3, 2, 30, { extra: 5 })]);
    await flow.clock.sleep(3 * DAY_MS);
    await rebuild(flow, { key: ['id', 'date'], contract: { columns: 'discard_row', types: 'evolve' } });
    expect(await versionsOf(flow)).toContain('3 2026-01-02 30 from 02-01 12 to 02-04 19');
  });

  it('gives rows new versions whose values differ, also where their run and time do not', async () => {
    // Of the texts in the table nobody knows which were numbers.
    const flow = createItemsFlow([row(1, 1, 'ten'), row(2, 2, 20)], { config: configOf({}) });
    await flow.sync();
    await rebuild(flow, { columns: { amount: { type: 'JSON' } } });
    expect(await versionsOf(flow)).toEqual([
      '1 2026-01-01 ten from 01-31 12 to now',
      '2 2026-01-02 20 from 01-31 12 to 01-31 19',
      '2 2026-01-02 20 from 01-31 19 to now',
    ]);
  });

  it('closes the versions that have a value in a column that it drops', async () => {
    const flow = createItemsFlow([row(1, 1, 10), row(2, 2, 20)], { config: configOf({}) });
    await flow.sync();
    await resync(flow, [row(1, 1, 10, { flag: 'a' }), row(2, 2, 20)]);
    const rules: StreamInput = { contract: { columns: 'discard_value' } };
    await rebuild(flow, rules);
    expect(await versionsOf(flow)).toEqual([
      '1 2026-01-01 10 from 01-31 12 to 02-01 12',
      '1 2026-01-01 10 from 02-01 12 to 02-01 19',
      '1 2026-01-01 10 from 02-01 19 to now',
      '2 2026-01-02 20 from 01-31 12 to now',
    ]);
    await rebuildAgain(flow, rules);
    await resync(flow, [row(1, 1, 10, { flag: 'a' }), row(2, 2, 21)], rules);
    expect(await findFaults(flow)).toEqual(none);
    // By the earlier rules it comes back, with a version of its own.
    await rebuild(flow, {});
  });

  it.each<[string, readonly StreamInput[]]>([
    ['key', [{ key: ['id', 'date'] }, { key: ['id'] }]],
    ['deletes', [{ deletes: 'hard' }, { deletes: 'keep' }, { deletes: 'soft' }]],
    ['masks', [{ columns: { name: { hash: true } } }, { columns: { name: { exclude: true } } }]],
    ['cursor', [{ cursor: 'auto' }, { cursor: false }]],
    ['columns', [{ columns: { amount: { type: 'VARCHAR' } } }, { contract: 'discard_row' }]],
    [
      'contract',
      [{ contract: { columns: 'discard_value' } }, {}, { contract: { columns: 'discard_value' } }],
    ],
    [
      'several',
      [
        { key: ['id', 'date'], deletes: 'soft', cursor: { field: 'date', param: 'startDate' } },
        { key: ['id', 'date'], deletes: 'hard', columns: { name: { exclude: true } } },
      ],
    ],
  ])('leaves the past as it was: %s', async (_, rules) => {
    let held = [row(1, 1, 10), row(2, 2, 20), row(3, 3, 30), row(4, 4, 40)];
    const flow = createItemsFlow(held, { config: configOf({}), endpoint: { dateField: 'date' } });
    await flow.sync();
    for (const [at, stream] of [{}, ...rules].entries()) {
      if (at > 0) await rebuild(flow, stream);
      // One moves to a different day, one leaves, one comes, and one that left comes back.
      const [first = row(1, 1, 10), , ...others] = held;
      const back = at === 1 ? [row(2, 2, 20)] : [];
      held = [...others, { ...first, date: `2026-01-1${at}` }, row(10 + at, 5, at, { extra: at }), ...back];
      await resync(flow, held, stream);
      expect(await findFaults(flow)).toEqual(none);
    }
    await rebuildAgain(flow, rules.at(-1) ?? {});
  });
});

describe('a history that is switched off', () => {
  it('has no versions that overlap once it is on again, after a rebuild in between', async () => {
    const flow = createItemsFlow([row(1, 1, 10), row(2, 2, 20)], { config: configOf({}) });
    await flow.sync();
    await resync(flow, [row(1, 3, 10), row(2, 2, 20)]);
    const past = await readPast(flow);
    const rules: StreamInput = { key: ['id', 'date'] };
    await flow.clock.sleep(HOUR_MS);
    await flow.rebuild({ config: configOf({ ...rules, history: false }) });
    await resync(flow, [row(1, 3, 10), row(2, 2, 20)], rules);
    expect((await readPast(flow)).slice(0, past.length)).toEqual(past);
    expect(await findFaults(flow)).toEqual(none);
    expect(await versionsOf(flow)).toContain('1 2026-01-01 10 from 02-01 13 to now');
  });

  it('catches up first where the rebuild is by rules that switch it on', async () => {
    const flow = createItemsFlow([row(1, 1, 10), row(2, 2, 20)], { config: configOf({}) });
    await flow.sync();
    await resync(flow, [row(1, 1, 11), row(2, 2, 20)], { history: false });
    await flow.clock.sleep(7 * HOUR_MS);
    await flow.rebuild({ config: configOf({ key: ['id', 'date'] }) });
    expect(await versionsOf(flow)).toEqual([
      '1 2026-01-01 10 from 01-31 12 to 02-01 12',
      '1 2026-01-01 11 from 02-01 12 to now',
      '2 2026-01-02 20 from 01-31 12 to now',
    ]);
    expect(await findFaults(flow)).toEqual(none);
  });
});
