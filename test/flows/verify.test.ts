import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, it } from 'vitest';
import { lockStateFolder } from '../../state/lock.ts';
import type { CheckItem, VerifyReport } from '../../src/model/reports.ts';
import { verifyState } from '../../src/commands/verify/verify.ts';
import { createItemsFlow, type Flow, HOUR_MS, makeItem, makeItems } from '../support/sync-harness.ts';

const verify = (flow: Flow, streams?: readonly string[]): Promise<VerifyReport> =>
  verifyState(flow.settings(), { clock: flow.clock, ...(streams && { streams }) });

const problems = ({ items }: VerifyReport) => items.filter(({ status }) => status !== 'ok');
const itemOf = ({ items }: VerifyReport, name: string): CheckItem | undefined =>
  items.find((item) => item.name === name && item.status !== 'ok') ??
  items.find((item) => item.name === name);

async function createSynced(): Promise<Flow> {
  const flow = createItemsFlow(makeItems(120), {
    endpoint: { dateField: 'date' },
    stream: { key: ['id'] },
  });
  await flow.sync();
  flow.simulator.editRecords('items', (records) => [...records, makeItem(900)]);
  await flow.clock.sleep(2 * HOUR_MS);
  await flow.sync();
  return flow;
}

/** Runs SQL on one of the files, as another program would. */
async function tamper(file: string, ...statements: readonly string[]): Promise<void> {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  for (const sql of statements) await connection.run(sql);
  connection.closeSync();
  instance.closeSync();
}
const workOf = (flow: Flow) => join(flow.stateDir, 'work.duckdb');

describe('verify', () => {
  it('finds that everything agrees', async () => {
    const flow = await createSynced();
    const asked = flow.simulator.log.length;
    const report = await verify(flow);
    expect(report).toMatchObject({ ok: true, exitCode: 0 });
    expect(problems(report)).toEqual([]);
    expect(report.items.map(({ name }) => name)).toEqual([
      'work file',
      'items',
      'published file',
      'both files',
      'archive of items',
      'staged pages',
    ]);
    expect(itemOf(report, 'items')?.detail).toBe(
      '121 rows; the key (id) is unique; columns and counts as recorded',
    );
    expect(flow.simulator.log).toHaveLength(asked);
    expect(existsSync(join(flow.stateDir, 'lock.json'))).toBe(false);
  });

  it('fails nothing while a first run has published nothing yet', async () => {
    const flow = createItemsFlow(makeItems(5));
    const lock = await lockStateFolder(flow.stateDir, '2026-01-31T12:00:00Z');
    const report = await verify(flow);
    await lock.release();
    expect(report.exitCode).toBe(75);
    expect(itemOf(report, 'published file')?.status).toBe('skipped');
  });

  it('says what it could not look at while a run holds the state, and disturbs nobody', async () => {
    const flow = await createSynced();
    const lock = await lockStateFolder(flow.stateDir, '2026-01-31T12:00:00Z');
    const report = await verify(flow);
    await lock.release();
    expect(report).toMatchObject({ ok: false, exitCode: 75 });
    expect(itemOf(report, 'work file')).toMatchObject({ status: 'skipped' });
    expect(itemOf(report, 'work file')?.detail).toContain('another run holds');
    expect(itemOf(report, 'items')).toMatchObject({ status: 'ok' });
    expect(itemOf(report, 'published file')).toMatchObject({ status: 'ok' });
  });

  const damages: Readonly<
    Record<string, readonly [damage: (flow: Flow) => unknown, item: string, detail: string, fix: string]>
  > = {
    'a published file with another row': [
      (flow) => tamper(flow.duckdbPath, `UPDATE items SET name = 'x' WHERE id = 3`),
      'both files',
      'main.items differ',
      'move that aside',
    ],
    'a published file with a row less': [
      (flow) => tamper(flow.duckdbPath, 'DELETE FROM items WHERE id = 3'),
      'both files',
      'main.items differ',
      'move that aside',
    ],
    'a published file that was replaced by another': [
      async (flow) => {
        copyFileSync(flow.duckdbPath, `${flow.duckdbPath}.copy`);
        rmSync(flow.duckdbPath);
        copyFileSync(`${flow.duckdbPath}.copy`, flow.duckdbPath);
        await tamper(flow.duckdbPath, 'DELETE FROM items WHERE id = 3');
      },
      'both files',
      'main.items differ',
      'move that aside',
    ],
    'a published file that is gone': [
      (flow) => {
        rmSync(flow.duckdbPath);
      },
      'published file',
      'there is no',
      'sluice sync publishes it',
    ],
    'a published file that is not a database': [
      (flow) => {
        writeFileSync(flow.duckdbPath, 'hello');
      },
      'published file',
      'not a DuckDB file',
      'publishes the file again',
    ],
    'a commit that is not published': [
      (flow) => tamper(workOf(flow), `UPDATE _sluice.meta SET value = 'later' WHERE key = 'generation'`),
      'published file',
      'does not hold the last commit',
      'sluice sync publishes it',
    ],
    'a table that is gone': [
      (flow) => tamper(workOf(flow), 'DROP TABLE items'),
      'items',
      'a checkpoint and no table',
      'sluice rebuild items',
    ],
    'a column nobody learned': [
      (flow) => tamper(workOf(flow), 'ALTER TABLE items ADD COLUMN mine VARCHAR'),
      'items',
      'not learned: mine',
      'sluice rebuild items',
    ],
    'a column that is gone': [
      (flow) => tamper(workOf(flow), 'ALTER TABLE items DROP COLUMN amount'),
      'items',
      'missing: amount',
      'sluice rebuild items',
    ],
    'a column of another type': [
      (flow) => tamper(workOf(flow), 'ALTER TABLE items ALTER COLUMN amount SET DATA TYPE DOUBLE'),
      'items',
      'of a different type than learned: amount',
      'sluice rebuild items',
    ],
    'a row that is there twice': [
      (flow) => tamper(workOf(flow), 'INSERT INTO items SELECT * FROM items WHERE id = 5'),
      'items',
      '1 row repeats the key (id)',
      'sluice rebuild items',
    ],
    'a row of the last run that is gone': [
      (flow) => tamper(workOf(flow), 'DELETE FROM items WHERE id = 900'),
      'items',
      'wrote 1 row according to its record, but the table has 0 of them',
      'sluice rebuild items',
    ],
    'records that are gone from the archive': [
      (flow) => {
        rmSync(join(flow.stateDir, 'archive'), { recursive: true });
      },
      'archive of items',
      'nothing of it is archived',
      '--full-refresh',
    ],
    'a work file that is not a database': [
      (flow) => {
        writeFileSync(workOf(flow), readFileSync(workOf(flow)).fill(7, 0, 4_096));
      },
      'work file',
      'work.duckdb',
      'restores its state',
    ],
  };

  it.each(Object.entries(damages))('finds %s', async (name, [damage, item, detail, fix]) => {
    const flow = await createSynced();
    await damage(flow);
    const report = await verify(flow);
    const isWarning = name.includes('archive');
    expect(report.exitCode).toBe(isWarning ? 0 : 6);
    const found = itemOf(report, item);
    expect(found).toMatchObject({ status: isWarning ? 'warning' : 'failed' });
    expect(found?.detail).toContain(detail);
    expect(found?.fix).toContain(fix);
  });

  it('warns of a copy in place of the published file, whose rows are the same', async () => {
    const flow = await createSynced();
    copyFileSync(flow.duckdbPath, `${flow.duckdbPath}.copy`);
    renameSync(`${flow.duckdbPath}.copy`, flow.duckdbPath);
    const report = await verify(flow);
    expect(report.exitCode).toBe(0);
    expect(itemOf(report, 'published file')).toMatchObject({
      status: 'warning',
      detail: `${flow.duckdbPath} is not the file that was published last: it was copied or moved here`,
    });
    expect(itemOf(report, 'both files')).toMatchObject({ status: 'ok' });
  });

  it('reports pages that a stopped scan left', async () => {
    const flow = await createSynced();
    await flow.clock.sleep(2 * HOUR_MS);
    await flow.sync({ fullRefresh: true, maxRequests: 1 });
    const report = await verify(flow);
    expect(report.exitCode).toBe(0);
    expect(itemOf(report, 'staged pages')?.detail).toMatch(
      /^items: 1 page of an unfinished scan started .* ago/,
    );
  });

  it('knows what is not there yet', async () => {
    const flow = createItemsFlow(makeItems(5));
    const report = await verify(flow);
    expect(report.exitCode).toBe(6);
    expect(itemOf(report, 'published file')?.fix).toMatch(/^Nothing was synced .*sluice sync/);
    expect(existsSync(flow.stateDir)).toBe(false);
  });

  it('checks the tables of the named streams only', async () => {
    const flow = await createSynced();
    await tamper(
      workOf(flow),
      'CREATE TABLE stray (id INTEGER)',
      "INSERT INTO _sluice.checkpoints SELECT * REPLACE ('gone' AS stream) FROM _sluice.checkpoints",
    );
    const names = async (streams?: readonly string[]) =>
      (await verify(flow, streams)).items.map(({ name }) => name);
    expect(await names()).toEqual(expect.arrayContaining(['items', 'gone', 'stray']));
    const named = await names(['items']);
    expect(named).toContain('items');
    expect(named).not.toContain('gone');
    expect(named).not.toContain('stray');
  });

  it('gives advice for a damaged header of the archive that helps', async () => {
    const flow = await createSynced();
    const header = join(flow.stateDir, 'archive', 'items', 'whole');
    const [first = ''] = readdirSync(header).filter((name) => name.endsWith('.json'));
    writeFileSync(join(header, first), '?');
    const report = await verify(flow);
    expect(itemOf(report, 'archive of items')).toMatchObject({ status: 'failed' });
    expect(itemOf(report, 'archive of items')?.fix).toContain('sluice sync --full-refresh --streams items');
    await flow.clock.sleep(2 * HOUR_MS);
    expect((await flow.sync({ fullRefresh: true, streams: ['items'] })).exitCode).toBe(0);
    expect(problems(await verify(flow))).toEqual([]);
  });

  it('says what rebuild still loads where only an earlier scan of the archive is damaged', async () => {
    const flow = await createSynced();
    const folder = join(flow.stateDir, 'archive', 'items', 'whole');
    const [records = ''] = readdirSync(folder).filter((name) => name.endsWith('.zst'));
    writeFileSync(join(folder, records), readFileSync(join(folder, records)).subarray(0, 50));
    expect(itemOf(await verify(flow), 'archive of items')?.fix).toContain('--full-refresh');
    await flow.clock.sleep(2 * HOUR_MS);
    flow.simulator.editRecords('items', (rows) => rows.map((row) => ({ ...(row as object), amount: 7 })));
    expect((await flow.sync({ fullRefresh: true, streams: ['items'] })).exitCode).toBe(0);
    const report = await verify(flow);
    expect(report.exitCode).toBe(0);
    expect(itemOf(report, 'archive of items')).toMatchObject({
      status: 'warning',
      detail: expect.stringContaining('is damaged') as string,
      fix: expect.stringMatching(/^Later scans are complete.*Nothing repairs the file/) as string,
    });
  });

  it('says that a lake was moved, and a sync finds it again', async () => {
    const both = { destination: { duckdb: './warehouse.duckdb', parquet: './lake' } };
    const flow = createItemsFlow(makeItems(5), { config: both });
    expect((await flow.sync()).exitCode).toBe(0);
    const moved = join(flow.folder, 'moved');
    renameSync(join(flow.folder, 'lake'), moved);
    const elsewhere = { destination: { duckdb: './warehouse.duckdb', parquet: './moved' } };
    const report = await verifyState(flow.settings(elsewhere), { clock: flow.clock });
    const lake = itemOf(report, 'lake');
    expect(lake?.detail).toMatch(/the lake was moved or copied$/);
    expect(lake?.fix).toMatch(/^sluice sync writes the views/);
    expect(
      problems(report)
        .map(({ fix }) => fix ?? '')
        .join(),
    ).not.toContain('defect');
    await flow.clock.sleep(2 * HOUR_MS);
    expect((await flow.sync({ config: elsewhere, force: true })).exitCode).toBe(0);
    expect(problems(await verifyState(flow.settings(elsewhere), { clock: flow.clock }))).toEqual([]);
  });

  it('does not call a lake that was left alone never synced', async () => {
    const flow = createItemsFlow(makeItems(5), {
      config: { destination: { duckdb: './warehouse.duckdb', parquet: './lake' } },
    });
    expect((await flow.sync()).exitCode).toBe(0);
    rmSync(flow.stateDir, { recursive: true });
    rmSync(flow.duckdbPath);
    const report = await verify(flow);
    expect(itemOf(report, 'published file')?.fix).toMatch(/^sluice sync publishes it/);
  });
});
