import {
  cpSync,
  existsSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { renderStatus, summarizeStatus } from '../../src/render/render-status.ts';
import { gatherReport } from '../../src/commands/report/gather-report.ts';
import { readStatus } from '../../src/commands/status.ts';
import { verifyState } from '../../src/commands/verify/verify.ts';
import { queryPublished } from '../../src/warehouse/query-published.ts';
import { changeFile, damageBlocksOf } from '../support/damage-file.ts';
import { runCheck } from '../support/run-check.ts';
import { startReader } from '../support/start-reader.ts';
import { createItemsFlow, type Flow, makeItems } from '../support/sync-harness.ts';

const destinations = {
  'the file': { destination: { duckdb: './warehouse.duckdb' }, path: 'warehouse.duckdb' },
  'the file of a lake': { destination: { parquet: './lake' }, path: 'lake/lake.duckdb' },
};

async function createFlow(destination: object): Promise<Flow> {
  const flow = createItemsFlow(makeItems(2_000), { config: { destination } });
  expect((await flow.sync()).exitCode).toBe(0);
  return flow;
}

async function check(flow: Flow) {
  const { report, found: published } = await runCheck(flow, 'published file');
  return { ...report, published };
}

const status = (flow: Flow) => readStatus(flow.settings(), flow.clock.now());

/** Overwrites bytes in the middle; the size stays as it is. */
function overwrite(file: string, bytes = 8_192): void {
  const content = readFileSync(file);
  const start = Math.floor(content.length / 2);
  writeFileSync(file, content.fill(7, start, start + bytes));
}

const ALL_TIMES = ['modifiedAtMs', 'changedAtMs'] as const;

/** Has the state folder believe that these of the file's times are those it was left with, as after damage on the disk. */
function keepTimes(flow: Flow, kept: readonly (typeof ALL_TIMES)[number][] = ALL_TIMES): void {
  const file = join(flow.stateDir, 'published.json');
  const { mtimeMs: modifiedAtMs, ctimeMs: changedAtMs } = statSync(flow.duckdbPath);
  const times = { modifiedAtMs, changedAtMs };
  const record = JSON.parse(readFileSync(file, 'utf8')) as object;
  const same = Object.fromEntries(kept.map((field) => [field, times[field]]));
  writeFileSync(file, JSON.stringify({ ...record, ...same }));
}

describe.each(Object.entries(destinations))('%s that readers open', (_, { destination, path }) => {
  it('is said to be damaged by check and status, and the sync that they advise publishes it again', async () => {
    const flow = await createFlow(destination);
    const file = join(flow.folder, path);
    const whole = readFileSync(file);
    overwrite(file);
    const { published } = await check(flow);
    expect(published?.status).toMatch(/^(?:warning|failed)$/);
    expect(published?.fix).toContain('Run `sluice sync`: it publishes the file again from the state folder');
    const report = await status(flow).catch((error: unknown) => error as Error & { hint: string });
    const told =
      report instanceof Error
        ? report.hint
        : renderStatus(report, { nowMs: flow.clock.now(), columns: 1_000 });
    expect(told).toContain('Run `sluice sync`: it publishes');
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 0 });
    expect(readFileSync(file).length).toBe(whole.length);
    expect(await check(flow)).toMatchObject({ ok: true, published: undefined });
    expect((await status(flow)).faults).toBeUndefined();
    expect(await flow.sync()).toMatchObject({ exitCode: 0, published: undefined });
  });

  it('is published again where it is no longer a database at all', async () => {
    const flow = await createFlow(destination);
    const file = join(flow.folder, path);
    writeFileSync(file, Buffer.alloc(statSync(file).size, 7));
    const { published, items } = await check(flow);
    expect(published).toMatchObject({ status: 'failed' });
    expect(items.find(({ name }) => name === 'disk')).toMatchObject({ status: 'ok' });
    await expect(status(flow)).rejects.toMatchObject({
      hint: expect.stringContaining('Run `sluice sync`: it publishes') as string,
    });
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 0 });
    expect(await check(flow)).toMatchObject({ ok: true, published: undefined });
  });
});

describe('a published file', () => {
  it('with a block that readers cannot read fails the check with 6, and a query names what helps', async () => {
    const flow = await createFlow({ duckdb: './warehouse.duckdb' });
    await damageBlocksOf(flow.duckdbPath, 'items');
    expect(await check(flow)).toMatchObject({ ok: false, exitCode: 6, published: { status: 'failed' } });
    await expect(queryPublished(flow.duckdbPath, 'SELECT max(name) FROM items')).rejects.toMatchObject({
      code: 'state_damaged',
      hint: expect.stringContaining('it publishes this file again') as string,
    });
    await flow.sync();
    const { rows } = await queryPublished(flow.duckdbPath, 'SELECT count(name) FROM items');
    expect(rows.map(([count]) => Number(count))).toEqual([2_000]);
  });

  it('that another program has written into is a warning, with the sync that publishes it again', async () => {
    const flow = await createFlow({ duckdb: './warehouse.duckdb' });
    await changeFile(flow.duckdbPath, 'DELETE FROM items WHERE id = 1');
    expect(await check(flow)).toMatchObject({
      ok: true,
      exitCode: 0,
      published: { status: 'warning', detail: expect.stringContaining('not as it was published') as string },
    });
    const report = await status(flow);
    expect(report.faults).toHaveLength(1);
    expect(summarizeStatus(report)).toContain('a published file was changed after publishing');
    await flow.sync();
    expect((await status(flow)).faults).toBeUndefined();
  });

  it.each([
    ['its modification time', ['modifiedAtMs']],
    ['all of its times', ALL_TIMES],
  ] as const)(
    'that is damaged while it keeps %s is published again by a sync without requests',
    async (_, kept) => {
      const flow = await createFlow({ duckdb: './warehouse.duckdb' });
      const whole = readFileSync(flow.duckdbPath);
      overwrite(flow.duckdbPath, 1);
      keepTimes(flow, kept);
      expect((await status(flow)).faults).toHaveLength(1);
      expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 0 });
      expect(readFileSync(flow.duckdbPath).equals(whole)).toBe(true);
    },
  );

  it('of a version that kept no sum of its bytes is moved away first where no time shows the damage', async () => {
    const flow = await createFlow({ duckdb: './warehouse.duckdb' });
    await damageBlocksOf(flow.duckdbPath, 'items');
    keepTimes(flow);
    const file = join(flow.stateDir, 'published.json');
    const { fingerprint, ...record } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    expect(fingerprint).toMatch(/^[0-9a-f]{64}$/);
    writeFileSync(file, JSON.stringify(record));
    const { published } = await check(flow);
    expect(published?.fix).toMatch(/^Move \S+warehouse\.duckdb away and run `sluice sync`/);
    renameSync(flow.duckdbPath, `${flow.duckdbPath}.old`);
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 0 });
    expect(await check(flow)).toMatchObject({ ok: true, published: undefined });
  });

  it('that is damaged where the state is lost too is not said to be published by a sync', async () => {
    const flow = await createFlow({ duckdb: './warehouse.duckdb' });
    await damageBlocksOf(flow.duckdbPath, 'items');
    rmSync(flow.stateDir, { recursive: true });
    const { published } = await check(flow);
    expect(published).toMatchObject({ status: 'failed' });
    expect(published?.fix).toContain('put a backup of');
    await expect(flow.sync()).rejects.toMatchObject({ exitCode: 6 });
    renameSync(flow.duckdbPath, `${flow.duckdbPath}.old`);
    expect(await flow.sync()).toMatchObject({ exitCode: 0 });
    expect(existsSync(flow.duckdbPath)).toBe(true);
  });

  it('that is a file of another program is moved away first: status and verify say so, and it helps', async () => {
    const flow = await createFlow({ duckdb: './warehouse.duckdb' });
    const other = `${flow.duckdbPath}.new`;
    writeFileSync(other, 'hello\n');
    renameSync(other, flow.duckdbPath);
    const advice = /^Move \S+warehouse\.duckdb away and run `sluice sync`: it publishes the file again/;
    await expect(status(flow)).rejects.toMatchObject({ hint: expect.stringMatching(advice) as string });
    expect(await check(flow)).toMatchObject({ ok: false, exitCode: 2 });
    const { items } = await verifyState(flow.settings(), { clock: flow.clock });
    const fixes = items.filter(({ status }) => status === 'failed').map(({ fix }) => fix);
    expect(fixes).toHaveLength(2);
    for (const fix of fixes) expect(fix).toMatch(advice);
    await expect(flow.sync()).rejects.toMatchObject({ exitCode: 2, code: 'publish_refused' });
    renameSync(flow.duckdbPath, `${flow.duckdbPath}.old`);
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 0 });
    expect(await check(flow)).toMatchObject({ ok: true, published: undefined });
  });

  it('that is cut short is reported, and published again', async () => {
    const flow = await createFlow({ duckdb: './warehouse.duckdb' });
    const { size } = statSync(flow.duckdbPath);
    truncateSync(flow.duckdbPath, size - 262_144);
    expect((await check(flow)).published).toBeDefined();
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 0 });
    expect(statSync(flow.duckdbPath).size).toBe(size);
  });
});

describe('a published file that was deleted', () => {
  it('is said to be missing by check, and the sync that it advises publishes it again', async () => {
    const flow = await createFlow(destinations['the file'].destination);
    const file = flow.duckdbPath;
    rmSync(file);
    const { ok, published } = await check(flow);
    expect(ok).toBe(true);
    expect(published).toMatchObject({
      status: 'warning',
      detail: `${file} was published before and is missing: readers find no data`,
      fix: expect.stringMatching(/^sluice sync publishes it/) as string,
    });
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 0 });
    expect(existsSync(file)).toBe(true);
    expect((await check(flow)).published).toBeUndefined();
  });
});

describe('check', () => {
  it('says that a lake was deleted, and the sync that it advises publishes it again', async () => {
    const flow = await createFlow(destinations['the file of a lake'].destination);
    const lake = join(flow.folder, 'lake');
    rmSync(lake, { recursive: true });
    const { ok, published } = await check(flow);
    expect(ok).toBe(true);
    expect(published).toMatchObject({
      status: 'warning',
      detail: `${lake} was published before and is missing: readers find no data`,
      fix: expect.stringMatching(/^sluice sync publishes it/) as string,
    });
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 0 });
    expect((await check(flow)).published).toBeUndefined();
  });

  it('warns of a file that another program has open for writing', async () => {
    const flow = await createFlow(destinations['the file'].destination);
    const reader = await startReader(flow.duckdbPath, 'READ_WRITE');
    try {
      const { ok, published } = await check(flow);
      expect(ok).toBe(true);
      expect(published).toMatchObject({
        status: 'warning',
        detail: expect.stringContaining('is open in another process') as string,
        fix: expect.stringContaining('what the program writes into this one is lost') as string,
      });
    } finally {
      await reader.close();
    }
  });
});

describe('an older state folder put back', () => {
  it('is named by check and verify, which advise the sync that restores the state', async () => {
    const flow = await createFlow(destinations['the file'].destination);
    const older = join(flow.folder, 'older');
    cpSync(flow.stateDir, older, { recursive: true });
    flow.simulator.editRecords('items', () => makeItems(2_010));
    expect((await flow.sync({ force: true })).exitCode).toBe(0);
    rmSync(flow.stateDir, { recursive: true });
    renameSync(older, flow.stateDir);
    const { found } = await runCheck(flow, 'state folder');
    const restores = expect.stringContaining('restores its state from what is published') as string;
    const isOlder = expect.stringContaining('is older than what is published in') as string;
    expect(found).toMatchObject({ status: 'warning', detail: isOlder, fix: restores });
    const { items } = await verifyState(flow.settings());
    expect(items).toContainEqual({ name: 'work file', status: 'failed', detail: isOlder, fix: restores });
    expect(items.map(({ fix }) => fix ?? '').join(' ')).not.toContain('publishes it');
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 0 });
    expect(await flow.query('SELECT count(*)::INTEGER AS n FROM main.items')).toEqual([{ n: 2_010 }]);
    expect((await verifyState(flow.settings())).ok).toBe(true);
  });
});

describe('the files of two projects that were swapped', () => {
  it.each([
    ['a file', 'the file', 'warehouse.duckdb'],
    // Its views look for their files elsewhere: a sync does not help.
    ['a lake', 'the file of a lake', 'lake'],
  ] as const)('are named by check and verify with the refusal of a sync: %s', async (_, name, place) => {
    const { destination } = destinations[name];
    const [one, other] = [await createFlow(destination), await createFlow(destination)];
    const published = join(one.folder, place);
    renameSync(published, `${published}.before`);
    cpSync(join(other.folder, place), published, { recursive: true, verbatimSymlinks: true });
    const { report, found } = await runCheck(one, 'state folder');
    const isOther = expect.stringContaining('was published from another state folder') as string;
    expect(report.exitCode).toBe(2);
    expect(found).toMatchObject({ status: 'failed', detail: isOther });
    const { items } = await verifyState(one.settings());
    const fixes = items.map(({ fix }) => fix ?? '').join(' ');
    expect(fixes).toContain('A sync is refused there');
    expect(fixes).toContain('put each back in its place');
    expect(fixes).not.toContain('fresh streams cost no request');
    await expect(one.sync()).rejects.toThrow('was published from another state folder');
  });
});

describe('a lake that holds the only state', () => {
  it('is not said to be published by a sync where its manifest cannot be read', async () => {
    const flow = await createFlow(destinations['the file of a lake'].destination);
    const lake = join(flow.folder, 'lake');
    const manifest = join(lake, 'manifest.json');
    rmSync(join(flow.stateDir, 'work.duckdb'));
    const whole = readFileSync(manifest);
    writeFileSync(manifest, whole.subarray(0, 100));
    const { items } = await verifyState(flow.settings());
    expect(items.find(({ name, status }) => name === 'lake' && status === 'failed')?.fix).toMatch(
      /^Put the lake back from a backup\. Without one, move its folder away: .*upgrade\.$/,
    );
    await expect(flow.sync()).rejects.toMatchObject({ exitCode: 2 });
    writeFileSync(manifest, whole);
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 0 });
  });
});

describe('a lake next to a published file', () => {
  const destination = { duckdb: './warehouse.duckdb', parquet: './lake' };
  const publish = async () => {
    const flow = await createFlow(destination);
    return { flow, lake: join(flow.folder, 'lake') };
  };
  const again =
    'Run `sluice sync`: it publishes the lake again from the state folder; fresh streams cost no request.';
  const expectTold = async (flow: Flow, detail: string, fix = again) => {
    expect((await status(flow)).faults).toEqual([{ path: join(flow.folder, 'lake'), detail, fix }]);
    expect((await check(flow)).items).toContainEqual({
      name: 'published file',
      status: 'warning',
      detail,
      fix,
    });
    expect(await flow.sync()).toMatchObject({ exitCode: 0, requests: 0 });
    expect((await status(flow)).faults).toBeUndefined();
    expect((await verifyState(flow.settings())).ok).toBe(true);
  };

  it('is named where it was moved away', async () => {
    const { flow, lake } = await publish();
    renameSync(lake, `${lake}.away`);
    await expectTold(
      flow,
      `${lake} was published before and is missing: readers find no data`,
      'sluice sync publishes it; fresh streams cost no request.',
    );
  });

  it('is named where an older one was put back', async () => {
    const { flow, lake } = await publish();
    cpSync(lake, `${lake}.older`, { recursive: true, verbatimSymlinks: true });
    const [first] = await flow.query('SELECT run_id FROM _sluice.runs');
    flow.simulator.editRecords('items', () => makeItems(2_010));
    const { runId } = await flow.sync({ force: true });
    rmSync(lake, { recursive: true });
    renameSync(`${lake}.older`, lake);
    await expectTold(
      flow,
      `the lake ${lake} is older than what was published last: it has the rows of run ${String(first?.['run_id'])}, not those of ${runId}`,
    );
  });

  it('is named where the link of a table is gone', async () => {
    const { flow, lake } = await publish();
    const generation = readlinkSync(join(lake, 'items/current'));
    rmSync(join(lake, 'items/current'));
    const [name = ''] = generation.split('/').slice(-1);
    await expectTold(
      flow,
      `the lake ${lake} is incomplete: items/current is gone and should point to ${name}`,
    );
  });
});

describe('a lake without its manifest', () => {
  it('is named by what reads its rows, and not taken for a defect', async () => {
    const flow = await createFlow(destinations['the file of a lake'].destination);
    rmSync(join(flow.folder, 'lake/manifest.json'));
    const told = /^the lake \S+ has no manifest\.json: the rows of its tables cannot be read$/;
    const path = join(flow.folder, 'lake/lake.duckdb');
    await expect(status(flow)).rejects.toThrow(told);
    await expect(queryPublished(path, 'SELECT count(*) FROM items')).rejects.toThrow(told);
    await expect(gatherReport(flow.settings(), { showValues: false }, { clock: flow.clock })).rejects.toThrow(
      told,
    );
  });
});

describe('a lake alone that was moved', () => {
  it('is named as such by queries and status, and read again after the sync that they advise', async () => {
    const flow = await createFlow(destinations['the file of a lake'].destination);
    const moved = join(flow.folder, 'moved');
    renameSync(join(flow.folder, 'lake'), moved);
    const elsewhere = { destination: { parquet: './moved' } };
    const count = () =>
      queryPublished(join(moved, 'lake.duckdb'), 'SELECT count(*)::INTEGER AS n FROM items');
    await expect(count()).rejects.toMatchObject({
      message: `cannot read the lake ${moved}: its views look for their files in a different folder: the lake was moved or copied`,
      hint: expect.stringMatching(/^sluice sync writes the views for this folder/) as string,
      exitCode: 6,
    });
    const { losses } = await readStatus(flow.settings(elsewhere), flow.clock.now());
    expect(losses?.join()).toContain(
      'the lake was moved or copied; sluice sync writes the views for this folder',
    );
    expect((await flow.sync({ config: elsewhere })).exitCode).toBe(0);
    expect((await count()).rows).toEqual([[2_000]]);
    expect((await readStatus(flow.settings(elsewhere), flow.clock.now())).losses).toBeUndefined();
  });
});
