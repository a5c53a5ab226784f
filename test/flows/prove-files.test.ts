import { cpSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { renderStatus, summarizeStatus } from '../../src/render/render-status.ts';
import type { SyncError } from '../../src/model/errors.ts';
import type { RunReport } from '../../src/model/run-report.ts';
import { readStatus } from '../../src/commands/status.ts';
import { verifyState } from '../../src/commands/verify/verify.ts';
import { queryPublished } from '../../src/warehouse/query-published.ts';
import { changeFile } from '../support/damage-file.ts';
import { globOf, lakeTableOf, queryFiles } from '../support/read-lake.ts';
import { countRuns, createRandom, leastSeen } from '../support/seeds.ts';
import { createItemsFlow, DAY_MS, type Flow, makeItems } from '../support/sync-harness.ts';

const lakeOnly = { destination: { parquet: './lake' } };
const both = { destination: { duckdb: './warehouse.duckdb', parquet: './lake' } };
const stream = { key: ['id'], cursor: { field: 'date' }, history: true, maxInvalidRatio: 1 } as const;

/** A flow whose table, history and quarantine all hold something. */
async function createFlow(config: { readonly destination?: object } = {}) {
  const records = [...makeItems(200, { perDay: 100 }), 'no record'];
  const flow = createItemsFlow(records, { stream, config, endpoint: { dateField: 'date' } });
  expect((await flow.sync()).exitCode).toBe(0);
  flow.simulator.editRecords('items', (all) =>
    all.map((one) => ((one as { id: number }).id === 5 ? { ...(one as object), name: 'other' } : one)),
  );
  await flow.clock.sleep(DAY_MS);
  flow.simulator.advanceDay();
  expect((await flow.sync({ fullRefresh: true })).exitCode).toBe(0);
  return { flow, lake: join(flow.folder, 'lake'), catalog: join(flow.folder, 'lake', 'lake.duckdb') };
}

const loseState = (flow: Flow) => {
  rmSync(flow.stateDir, { recursive: true, force: true });
};
const syncAgain = (flow: Flow): Promise<RunReport | SyncError> =>
  flow.sync({ force: true }).catch((thrown: unknown) => thrown as SyncError);
const findFailures = async (flow: Flow) =>
  (await verifyState(flow.settings(), { clock: flow.clock })).items.filter(
    ({ status }) => status === 'failed',
  );

function pathsOf(lake: string, table = 'items'): readonly string[] {
  const { generation, files } = lakeTableOf(lake, table);
  return files.map(({ path }) => join(lake, '_generations', table, generation, path));
}

function listFiles(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}

function flip(file: string, at: number, bit = 1): void {
  const bytes = readFileSync(file);
  bytes[at] = (bytes[at] ?? 0) ^ bit;
  writeFileSync(file, bytes);
}

/** A scan writes the records that it holds back again, with its own run and time. */
const TABLES = ['items', 'items_history', '(SELECT stream, reason, record FROM _sluice.quarantine)'];
async function readAll(file: string): Promise<readonly string[]> {
  const read = async (table: string) => {
    const { rows } = await queryPublished(file, `SELECT * FROM ${table} ORDER BY ALL`);
    return rows.map((row) => `${table} ${JSON.stringify(row)}`);
  };
  return (await Promise.all(TABLES.map(read))).flat();
}

/** Finds a byte of a file whose change the engine reads as another value, and changes it. */
async function changeValue(file: string): Promise<void> {
  const whole = readFileSync(file);
  const read = () =>
    queryFiles(
      `SELECT sum(hash(t))::VARCHAR AS sum, count(*) AS n FROM read_parquet('${file}', hive_partitioning = false) t`,
    ).catch(() => undefined);
  const before = JSON.stringify(await read());
  for (let at = 20; at < whole.length - 8; at += 1) {
    flip(file, at);
    const now = await read();
    if (now !== undefined && JSON.stringify(now) !== before) return;
    writeFileSync(file, whole);
  }
  throw new Error('every change of a byte is an error to the engine');
}

describe('a lake file whose values changed inside', () => {
  it.each(['items', 'items_history'])(
    'is named by verify without a work file, and no state is made of it: %s',
    async (table) => {
      const { flow, lake } = await createFlow(lakeOnly);
      const [file = ''] = pathsOf(lake, table);
      await changeValue(file);
      expect(await findFailures(flow)).toMatchObject([
        { name: 'lake', detail: expect.stringContaining(file) as unknown },
      ]);
      loseState(flow);
      const message = expect.stringContaining(`${file}: damaged`) as unknown;
      expect(await findFailures(flow)).toMatchObject([{ name: 'lake', detail: message }]);
      const before = readFileSync(file);
      expect(await syncAgain(flow)).toMatchObject({ exitCode: 6, code: 'state_damaged', message });
      expect(flow.arrivals).toEqual([]);
      expect(readFileSync(file).equals(before)).toBe(true);
    },
  );

  it('is named by verify with any of its bits changed, also those that no value depends on', async () => {
    const { flow, lake } = await createFlow(lakeOnly);
    const random = createRandom();
    for (const file of [...pathsOf(lake), ...pathsOf(lake, 'items_history')]) {
      const whole = readFileSync(file);
      for (let round = 0; round < countRuns(10); round += 1) {
        const at = Math.floor(random() * whole.length);
        flip(file, at, 1 << Math.floor(random() * 8));
        expect(await findFailures(flow), `${file} at ${at}`).toMatchObject([
          { name: 'lake', detail: expect.stringContaining(file.slice(file.indexOf('date='))) as unknown },
        ]);
        writeFileSync(file, whole);
      }
    }
  });

  it('is found as well where only the manifest has its fingerprint, as in earlier releases', async () => {
    const { flow, lake, catalog } = await createFlow(lakeOnly);
    await changeFile(
      catalog,
      `UPDATE _sluice.meta SET value = regexp_replace(value, ',"(fingerprint|hashes)":"[0-9]+"', '', 'g') WHERE key = 'lake'`,
    );
    const [file = ''] = pathsOf(lake);
    const whole = readFileSync(file);
    await changeValue(file);
    loseState(flow);
    expect(await syncAgain(flow)).toMatchObject({ exitCode: 6, code: 'state_damaged' });
    expect(await findFailures(flow)).toMatchObject([{ detail: expect.stringContaining(file) as unknown }]);
    writeFileSync(file, whole);
    expect(await syncAgain(flow)).toMatchObject({ exitCode: 0 });
  });

  it('is not told of a lake that another engine summed in its own way', async () => {
    const { flow, catalog } = await createFlow(lakeOnly);
    await changeFile(
      catalog,
      `UPDATE _sluice.meta SET value = regexp_replace(value, '"(fingerprint|hashes)":"[0-9]+"', '"\\1":"12345"', 'g') WHERE key = 'lake'`,
    );
    loseState(flow);
    expect(await findFailures(flow)).toEqual([]);
    expect(await syncAgain(flow)).toMatchObject({ exitCode: 0 });
  });
});

describe('a destination with one changed byte, anywhere', () => {
  it.each<[string, { readonly destination?: object }, (flow: Flow) => readonly string[]]>([
    ['a lake', lakeOnly, (flow) => listFiles(join(flow.folder, 'lake'))],
    ['a DuckDB file', {}, (flow) => [flow.duckdbPath]],
  ])('never gives a state with other rows: %s', { timeout: 600_000 }, async (_, config, listAll) => {
    const { flow, catalog } = await createFlow(config);
    const published = config === lakeOnly ? join(flow.folder, 'lake') : flow.duckdbPath;
    const file = config === lakeOnly ? catalog : flow.duckdbPath;
    const expected = await readAll(file);
    const kept = join(flow.folder, 'kept');
    cpSync(published, kept, { recursive: true, verbatimSymlinks: true });
    const random = createRandom();
    const seen = { healed: 0, refused: 0 };
    for (let round = 0; round < countRuns(40); round += 1) {
      const files = listAll(flow);
      // Small files hold what most depends on.
      const damaged = files[Math.floor(random() * files.length)] ?? '';
      const at = Math.floor(random() * statSync(damaged).size);
      const what = `${damaged} at ${at}`;
      flip(damaged, at, 1 << Math.floor(random() * 8));
      loseState(flow);
      const faults = await findFailures(flow);
      const report = await syncAgain(flow);
      if (report.exitCode === 0) {
        seen.healed += 1;
        expect(await readAll(file), what).toEqual(expected);
      } else {
        seen.refused += 1;
        expect([2, 6], what).toContain(report.exitCode);
        expect(
          faults,
          `${what}: ${String('message' in report ? report.message : report.error?.message)}`,
        ).not.toEqual([]);
        expect(flow.arrivals, what).toEqual([]);
      }
      rmSync(published, { recursive: true });
      cpSync(kept, published, { recursive: true, verbatimSymlinks: true });
    }
    expect(Math.min(seen.healed, seen.refused)).toBeGreaterThan(leastSeen(3));
  });
});

describe('a lake that lacks a file', () => {
  it('says so where it is queried, and in status, with the rows there should be', async () => {
    const { flow, lake, catalog } = await createFlow(lakeOnly);
    const [file = ''] = pathsOf(lake);
    renameSync(file, join(flow.folder, 'away.parquet'));
    const loss = expect.stringContaining(`items: ${file} missing`) as unknown;
    for (const sql of [
      'SELECT count(*) FROM items',
      'WITH a AS (FROM lake.main."items") FROM a',
      `FROM query_table('it' || 'ems')`,
    ])
      await expect(queryPublished(catalog, sql), sql).rejects.toMatchObject({
        exitCode: 6,
        code: 'state_damaged',
        message: loss,
        hint: expect.stringContaining('sluice verify') as unknown,
      });
    const report = await readStatus(flow.settings(), flow.clock.now());
    expect(report.losses).toEqual([loss]);
    expect(summarizeStatus(report)).toContain('the lake is incomplete');
    const text = renderStatus(report, { nowMs: flow.clock.now(), columns: undefined });
    expect(text).toMatch(/next: sluice verify/);
    expect(text).toMatch(/^items +damaged /m);
    expect(summarizeStatus(report)).toMatch(/^0 of 1 stream verified/);
    // Other tables have all of their rows.
    for (const table of ['items_history', '_sluice.runs'])
      expect((await queryPublished(catalog, `FROM ${table}`)).rows).not.toEqual([]);
    renameSync(join(flow.folder, 'away.parquet'), file);
    expect((await queryPublished(catalog, 'SELECT count(*) FROM items')).rows).toEqual([['200']]);
    expect((await readStatus(flow.settings(), flow.clock.now())).losses).toBeUndefined();
  });

  it('or has one too many, is reported by its count', async () => {
    const { flow, lake, catalog } = await createFlow(lakeOnly);
    const [file = ''] = pathsOf(lake);
    cpSync(file, `${file}.copy.parquet`);
    const loss = expect.stringMatching(/items: 300 rows in .* instead of 200$/) as unknown;
    expect((await readStatus(flow.settings(), flow.clock.now())).losses).toEqual([loss]);
    await expect(queryPublished(catalog, 'FROM items')).rejects.toMatchObject({ code: 'state_damaged' });
  });
});

describe('a lake folder without its manifest', () => {
  it('is reported by verify with what a sync does not refuse', async () => {
    const { flow, lake } = await createFlow(both);
    rmSync(join(lake, 'manifest.json'));
    const [failure] = await findFailures(flow);
    expect(failure).toMatchObject({
      name: 'lake',
      fix: expect.stringMatching(/^Put manifest.json back/) as unknown,
    });
    expect(await syncAgain(flow)).toMatchObject({ exitCode: 2, code: 'publish_refused' });
    for (const name of readdirSync(lake)) renameSync(join(lake, name), join(flow.folder, name));
    expect(await findFailures(flow)).toMatchObject([
      { fix: expect.stringMatching(/^sluice sync publishes it/) as unknown },
    ]);
    expect(await syncAgain(flow)).toMatchObject({ exitCode: 0 });
    expect(await queryFiles(`SELECT count(*)::INTEGER AS n FROM ${globOf(lake)}`)).toEqual([{ n: 200 }]);
  });
});

describe('a manifest with other values', () => {
  type Edit = (text: string) => string;
  const laterYear: Edit = (text) => text.replace(/("commit": ")\d{4}/, '$12126');
  it.each<[string, Edit, number]>([
    ['of a run that lake.duckdb does not know', laterYear, 6],
    ['of another connector', (text) => text.replace(/("connector": ")/, '$1other-'), 2],
    [
      'with one id for two columns',
      (text) => text.replace(/("fieldIds": \{\s*"\w+": )\d+,(\s*"\w+": )\d+/, '$17,$27'),
      2,
    ],
  ])('%s is reported by verify and by a sync, with and without a state', async (_, edit, exitCode) => {
    for (const keepsState of [false, true]) {
      const { flow, lake } = await createFlow(lakeOnly);
      const manifest = join(lake, 'manifest.json');
      const text = readFileSync(manifest, 'utf8');
      expect(edit(text)).not.toBe(text);
      writeFileSync(manifest, edit(text));
      if (!keepsState) loseState(flow);
      const path = expect.stringContaining(lake) as unknown;
      expect(await findFailures(flow)).toMatchObject([{ name: 'lake', detail: path }]);
      expect(await syncAgain(flow)).toMatchObject({ exitCode, message: path });
      expect(flow.arrivals).toEqual([]);
      expect(readFileSync(manifest, 'utf8')).toBe(edit(text));
    }
  });
});
