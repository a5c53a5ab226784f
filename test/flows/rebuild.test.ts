import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { runChecks } from '../../src/commands/check.ts';
import { readStatus } from '../../src/commands/status.ts';
import { sliceStream } from '../../src/model/stream.ts';
import { archiveFolder } from '../../src/storage/state-folder.ts';
import { archiveOf, listArchive } from '../support/archive-files.ts';
import { createSimulatorTransport } from '../support/simulator-transport.ts';
import {
  createItemsFlow,
  DAY_MS,
  eventsOf,
  type Flow,
  type FlowConfig,
  HOUR_MS,
  makeItem,
  makeItems,
  noBuiltIns,
  streamOf,
} from '../support/sync-harness.ts';

type StreamInput = NonNullable<FlowConfig['streams']>[string];

const items = makeItems(250);
const contentOf = (flow: Flow) => listArchive(flow, '.zst').map((name) => join(archiveOf(flow), name));

/** The same stream with other settings. */
const configOf = (stream: StreamInput, defaults?: FlowConfig['defaults']): FlowConfig => ({
  streams: { ...noBuiltIns, items: { path: 'items', paginated: true, ...stream } },
  ...(defaults && { defaults }),
});

/** Everything a reader may see of a stream, without who wrote what when. */
async function readAll(flow: Flow) {
  const { columns, rows } = await flow.table('items');
  return { columns, rows: rows.map((row) => JSON.stringify(row)).toSorted() };
}

/** A first sync, and one of the next day with restated, new and vanished rows. */
async function createSyncedFlow(options: Parameters<typeof createItemsFlow>[1] = {}) {
  const flow = createItemsFlow(items, { ...options, endpoint: { dateField: 'date', ...options.endpoint } });
  expect((await flow.sync()).exitCode).toBe(0);
  await nextDay(flow, (records) => [
    ...records.slice(0, 240),
    { ...makeItem(240), name: 'restated' },
    ...makeItems(30, { from: 250 }),
  ]);
  const report = await flow.sync();
  expect(report.exitCode).toBe(0);
  return { flow, report };
}

async function nextDay(flow: Flow, edit: (records: readonly unknown[]) => readonly unknown[]): Promise<void> {
  await flow.clock.sleep(DAY_MS);
  flow.simulator.advanceDay();
  flow.simulator.editRecords('items', edit);
}

describe('rebuild', () => {
  it('gives the table, its columns and its checkpoint as the syncs left them, without a request', async () => {
    const { flow, report } = await createSyncedFlow();
    expect(streamOf(report).mode).toBe('incremental');
    const before = await readAll(flow);
    const state = () =>
      flow.query(
        'SELECT * FROM _sluice.checkpoints, (SELECT list(c ORDER BY ordinal) FROM _sluice.contracts c)',
      );
    const held = await state();
    const runs = await flow.query('SELECT * FROM _sluice.stream_runs ORDER BY run_id');
    const asked = flow.simulator.log.length;

    const rebuilt = await flow.rebuild();
    expect(rebuilt).toMatchObject({ exitCode: 0, dryRun: false, streams: [{ status: 'rebuilt', scans: 2 }] });
    expect(flow.simulator.log).toHaveLength(asked);
    expect(rebuilt.published).toMatchObject({ path: flow.duckdbPath });
    expect(await readAll(flow)).toEqual(before);
    expect(await state()).toEqual(held);
    const after = await flow.query(
      `SELECT * FROM _sluice.stream_runs WHERE mode IS DISTINCT FROM 'rebuild' ORDER BY run_id`,
    );
    expect(after).toEqual(runs);
    expect(await flow.query(`SELECT run_id FROM _sluice.stream_runs WHERE mode = 'rebuild'`)).toEqual([
      { run_id: rebuilt.runId },
    ]);
    expect((await flow.sync({ force: true })).exitCode).toBe(0);
  });
});

describe('rebuild by other rules', () => {
  const noOurs = async (flow: Flow) => {
    const { columns, rows } = await flow.table('items');
    return { columns, rows: rows.map(({ _run_id, _synced_at, ...row }) => JSON.stringify(row)).toSorted() };
  };

  it.each<[string, StreamInput]>([
    ['a forced type', { columns: { amount: { type: 'VARCHAR' } } }],
    ['a column left out', { columns: { name: { exclude: true } } }],
    ['a column hashed', { columns: { name: { hash: true } } }],
    ['another key', { key: ['id', 'date'] }],
  ])('gives what a fresh sync would: %s', async (_, stream) => {
    const { flow } = await createSyncedFlow({ stream: { deletes: 'hard', key: ['id'] } });
    const changed = configOf({ deletes: 'hard', key: ['id'], ...stream }, { hashKey: 'a key of 16 letters' });
    expect(await flow.rebuild({ config: changed })).toMatchObject({
      exitCode: 0,
      streams: [{ rowsKept: 0 }],
    });
    const { flow: fresh } = await flow.clean({ config: changed });
    expect(await noOurs(flow)).toEqual(await noOurs(fresh));
    // Nothing is left to be done: the current config is the one that the table was made with.
    const report = await flow.sync({ config: changed });
    expect(streamOf(report)).toMatchObject({ status: 'fresh' });
  });

  it('takes what is left out by now out of the archive as well', async () => {
    const { flow } = await createSyncedFlow();
    const leaks = () =>
      contentOf(flow).filter((file) => /"name"/.test(zstdDecompressSync(readFileSync(file)).toString()));
    expect(leaks()).toHaveLength(2);
    const config = configOf({ columns: { name: { exclude: true } } });
    expect((await flow.rebuild({ config })).exitCode).toBe(0);
    expect(contentOf(flow)).toHaveLength(2);
    expect(leaks()).toEqual([]);
    expect((await flow.rebuild({ config })).exitCode).toBe(0);
    // What was left out cannot come back.
    expect(await flow.rebuild()).toMatchObject({
      exitCode: 6,
      streams: [{ status: 'failed', error: { code: 'archive_incomplete' } }],
    });
  });

  it('leaves no byte of it in any file, versions and quarantine included', async () => {
    const secret = (id: number) => ({ ...makeItem(id), name: `needle-${id}-in-the-haystack` });
    const records = [...Array.from({ length: 300 }, (_, id) => secret(id)), ['needle-in-the-haystack']];
    const flow = createItemsFlow(records, { stream: { history: true, key: ['id'], maxInvalidRatio: 1 } });
    await flow.sync();
    await nextDay(flow, ([, ...others]) => [{ ...secret(0), amount: 5 }, ...others]);
    await flow.sync({ fullRefresh: true });
    const config = configOf({
      history: true,
      key: ['id'],
      maxInvalidRatio: 1,
      columns: { name: { exclude: true } },
    });
    const holders = () =>
      readdirSync(flow.folder, { recursive: true, encoding: 'utf8' })
        .map((name) => join(flow.folder, name))
        .filter((file) => statSync(file).isFile())
        .filter((file) => {
          const bytes = readFileSync(file);
          return (file.endsWith('.zst') ? zstdDecompressSync(bytes) : bytes).includes('needle-2');
        });
    expect(holders().length).toBeGreaterThan(2);
    expect((await flow.rebuild({ config })).exitCode).toBe(0);
    expect(holders()).toEqual([]);
    expect(await flow.query('SELECT count(*) AS n FROM main.items_history')).toEqual([{ n: 301 }]);
  });

  it('hashes nothing twice', async () => {
    const defaults = { hashKey: 'a key of 16 letters' };
    const config = configOf({ columns: { name: { hash: true } } }, defaults);
    const flow = createItemsFlow(items, { config });
    await flow.sync();
    const before = await readAll(flow);
    await flow.rebuild();
    expect(await readAll(flow)).toEqual(before);
    const other = { ...config, defaults: { hashKey: 'another key of 16 letters' } };
    const { streams } = await flow.rebuild({ config: other });
    expect(streams[0]?.error?.message).toContain(
      'does not have the values of name that the config now requires',
    );
    expect(await readAll(flow)).toEqual(before);
  });

  it('lets records out of quarantine that fit by now, and those in that do not', async () => {
    const odd = makeItems(60).map((item) => (item.id === 7 ? { ...item, amount: 'seven' } : item));
    const strict: StreamInput = { columns: { amount: { type: 'BIGINT' } }, contract: 'discard_row' };
    const flow = createItemsFlow(odd, { stream: strict });
    await flow.sync();
    const count = async () => (await flow.query('SELECT count(*) AS n FROM _sluice.quarantine'))[0]?.['n'];
    expect(await count()).toBe(1);
    const loose = configOf({ columns: { amount: { type: 'VARCHAR' } } });
    expect(await flow.rebuild({ config: loose })).toMatchObject({
      streams: [{ rowsAfter: 60, rowsQuarantined: 0 }],
    });
    expect(await count()).toBe(0);
    expect(await flow.query('SELECT amount FROM main.items WHERE id = 7')).toEqual([{ amount: 'seven' }]);
    expect(await flow.rebuild()).toMatchObject({ streams: [{ rowsAfter: 59, rowsQuarantined: 1 }] });
    expect(await count()).toBe(1);
  });

  it('is refused where other data is asked for by now', async () => {
    const { flow } = await createSyncedFlow();
    const { streams } = await flow.rebuild({ config: configOf({ params: { region: 'eu' } }) });
    expect(streams[0]?.error?.message).toContain(
      'a path, params or records that differ from the current config',
    );
  });
});

describe('rows that the archive does not hold any more', () => {
  /** A table with ten rows that left the source before the archive begins. */
  async function createFlowWithKept(stream: StreamInput = {}, more: object = {}) {
    const flow = createItemsFlow(
      makeItems(110).map((item) => ({ ...item, ...more })),
      { stream },
    );
    await flow.sync();
    await nextDay(flow, (records) => records.slice(10));
    await flow.sync({ fullRefresh: true });
    const [oldest] = listArchive(flow, '.json');
    rmSync(join(archiveOf(flow), oldest ?? ''));
    return flow;
  }

  it('are taken over as they were', async () => {
    const flow = await createFlowWithKept();
    const values = 'SELECT * EXCLUDE (_run_id, _synced_at) FROM main.items ORDER BY id';
    const before = await flow.query(values);
    expect(await flow.rebuild()).toMatchObject({
      exitCode: 0,
      streams: [{ scans: 1, rowsBefore: 110, rowsAfter: 110, rowsKept: 10 }],
    });
    expect(await flow.query(values)).toEqual(before);
  });

  it.each([
    ['with a key', { key: ['id'] }],
    ['with none', { columns: { id: { exclude: true }, name: { exclude: true } } }],
  ] as const)('stay marked where the first scan of the archive marked them: %s', async (_, rules) => {
    const stream = { ...rules, cursor: false, deletes: 'soft' } as const;
    const flow = await createFlowWithKept(stream);
    const marked = 'SELECT count(*) AS n FROM main.items WHERE _deleted_at IS NOT NULL';
    expect(await flow.query(marked)).toEqual([{ n: 10 }]);
    const read = 'SELECT * FROM main.items ORDER BY ALL';
    const before = await flow.query(read);
    expect(await flow.rebuild()).toMatchObject({
      exitCode: 0,
      streams: [{ scans: 1, rowsBefore: 100, rowsAfter: 100, rowsKept: 10 }],
    });
    expect(await flow.query(read)).toEqual(before);
    // A row that the archive has is marked by its own scans.
    await nextDay(flow, (records) => records.slice(1));
    await flow.sync({ fullRefresh: true });
    const hard = configOf({ ...stream, deletes: 'hard' });
    expect(await flow.rebuild({ config: hard })).toMatchObject({
      streams: [{ rowsAfter: 99, rowsKept: 10 }],
    });
    expect(await flow.query('SELECT count(*) AS n FROM main.items')).toEqual([{ n: 109 }]);
  });

  it.each(['keep', 'soft'] as const)(
    'are taken over where the archive of another slice reaches further back, with deletes: %s',
    async (deletes) => {
      const slices = ['acme', 'globex'].flatMap((entity) =>
        makeItems(20).map((item) => ({ ...item, entity })),
      );
      const flow = createItemsFlow(slices, {
        stream: { key: ['id'], deletes, params: { entity: ['acme', 'globex'] }, sliceBy: ['entity'] },
        endpoint: { filters: { entity: ['entity'] } },
      });
      await flow.sync();
      await nextDay(flow, ([first, , ...others]) => [{ ...(first as object), name: 'restated' }, ...others]);
      await flow.sync({ fullRefresh: true });
      await nextDay(flow, ([, ...others]) => others);
      await flow.sync({ fullRefresh: true });
      const [acme] = flow.settings().streams.flatMap(sliceStream);
      if (acme === undefined) throw new Error('the stream has no slices');
      const folder = archiveFolder(flow.stateDir, acme);
      const headers = readdirSync(folder).filter((name) => name.endsWith('.json'));
      for (const name of headers.toSorted().slice(0, 2)) rmSync(join(folder, name));
      const before = await flow.query('SELECT * FROM main.items ORDER BY ALL');
      expect(await flow.rebuild()).toMatchObject({ exitCode: 0, streams: [{ scans: 4, rowsKept: 2 }] });
      expect(await flow.query('SELECT * FROM main.items ORDER BY ALL')).toEqual(before);
    },
  );

  it('are distinguished from the others whatever their fields are called', async () => {
    const lists = Object.fromEntries(['o', 'n', 's', 't', 'm'].map((name) => [name, [1, { id: 2 }]]));
    const flow = await createFlowWithKept({ key: ['id'] }, lists);
    expect(await flow.rebuild()).toMatchObject({
      streams: [{ rowsBefore: 110, rowsAfter: 110, rowsKept: 10 }],
    });
  });

  it.each([
    [
      'moments',
      (id: number) => `2026-01-01T00:${id % 60}:00Z`.replace(/T00:(\d):/, 'T00:0$1:'),
      (id: number) => `odd ${id}`,
    ],
    ['fractions', (id: number) => id + 0.5, (id: number) => `odd ${id}`],
  ])('cannot be told once their key is another text: %s', async (_, usual, odd) => {
    const spell = (from: number, to: number, id: (n: number) => unknown) =>
      makeItems(to - from, { from }).map((item) => ({ ...item, ref: id(item.id) }));
    const flow = createItemsFlow(spell(0, 50, usual), { stream: { key: ['ref'] } });
    await flow.sync();
    await nextDay(flow, (records) => [...records, ...spell(50, 54, odd)]);
    await flow.sync({ fullRefresh: true });
    const [oldest] = listArchive(flow, '.json').toSorted();
    rmSync(join(archiveOf(flow), oldest ?? ''));
    const before = await readAll(flow);
    expect(before.rows).toHaveLength(54);
    const { streams } = await flow.rebuild();
    expect(streams[0]?.error?.message).toContain('cannot be distinguished from those of the archive');
    expect(await readAll(flow)).toEqual(before);
    expect(await flow.rebuild({ archivedOnly: true })).toMatchObject({ streams: [{ rowsAfter: 54 }] });
  });

  it('are left out when asked to', async () => {
    const flow = await createFlowWithKept();
    expect(await flow.rebuild({ archivedOnly: true })).toMatchObject({
      streams: [{ rowsAfter: 100, rowsKept: 0 }],
    });
  });

  it('are converted to types they fit, and keep the rebuild from others', async () => {
    const flow = await createFlowWithKept();
    const text = configOf({ columns: { amount: { type: 'VARCHAR' } } });
    expect(await flow.rebuild({ config: text })).toMatchObject({ exitCode: 0, streams: [{ rowsKept: 10 }] });
    expect(await flow.query('SELECT amount FROM main.items WHERE id = 3')).toEqual([{ amount: '757' }]);
    const before = await readAll(flow);
    const { streams } = await flow.rebuild({ config: configOf({ columns: { name: { type: 'BIGINT' } } }) });
    expect(streams[0]?.error?.message).toMatch(
      /10 earlier rows .* do not fit the types that name would have/,
    );
    expect(await readAll(flow)).toEqual(before);
  });

  it('do not bring back what is left out by now', async () => {
    const flow = await createFlowWithKept();
    await flow.rebuild({ config: configOf({ columns: { name: { exclude: true } } }) });
    expect((await flow.table('items')).columns).not.toHaveProperty('name');
    expect((await flow.table('items')).rows).toHaveLength(110);
  });

  it('cannot be identified by a key they do not have', async () => {
    const flow = await createFlowWithKept({ key: ['id'] });
    const hashKey = 'a key of 16 letters';
    const config = configOf({ key: ['id'], columns: { id: { hash: true } } }, { hashKey });
    const { streams } = await flow.rebuild({ config });
    expect(streams[0]?.error?.message).toContain('its key is hashed from now on');
    expect(await flow.rebuild({ config, archivedOnly: true })).toMatchObject({ exitCode: 0 });
  });
});

describe('a rebuild is refused, and the table stays,', () => {
  const damages: Readonly<Record<string, (flow: Flow) => void>> = {
    'without an archive': (flow) => {
      rmSync(join(flow.stateDir, 'archive'), { recursive: true });
    },
    'when the records of a scan are gone': (flow) => {
      rmSync(contentOf(flow)[0] ?? '');
    },
    'when they are cut': (flow) => {
      const file = contentOf(flow)[0] ?? '';
      truncateSync(file, statSync(file).size - 5);
    },
    'when a header is gone': (flow) => {
      for (const name of listArchive(flow, '.json').slice(1)) rmSync(join(archiveOf(flow), name));
    },
    'when a header is damaged': (flow) => {
      writeFileSync(join(archiveOf(flow), listArchive(flow, '.json')[1] ?? ''), '{');
    },
  };

  it.each(Object.entries(damages))('%s; a full sync fixes it', async (_, damage) => {
    const { flow } = await createSyncedFlow();
    const before = await readAll(flow);
    const { mtimeMs } = statSync(flow.duckdbPath);
    damage(flow);
    const report = await flow.rebuild();
    expect(report).toMatchObject({ exitCode: 6, streams: [{ status: 'failed' }] });
    expect(report.streams[0]?.error?.code).toMatch(/^archive_/);
    expect(report.streams[0]?.error?.hint).toContain('--full-refresh');
    expect(await readAll(flow)).toEqual(before);
    expect(statSync(flow.duckdbPath).mtimeMs).toBe(mtimeMs);
    expect(readdirSync(flow.stateDir).filter((name) => name.includes('rebuild'))).toEqual([]);
    expect((await flow.sync({ fullRefresh: true })).exitCode).toBe(0);
    expect(await flow.rebuild()).toMatchObject({ exitCode: 0 });
  });
});

describe('a rebuild of two streams, one of which is refused', () => {
  it('ends with the same code as its dry run', async () => {
    const other = { path: 'items', paginated: true };
    const flow = createItemsFlow(items, { config: { streams: { ...configOf({}).streams, other } } });
    expect((await flow.sync()).exitCode).toBe(0);
    await nextDay(flow, (records) => records.slice(0, 240));
    expect((await flow.sync()).exitCode).toBe(0);
    for (const name of listArchive(flow, '.json').slice(1)) rmSync(join(archiveOf(flow), name));
    const statuses = async (dryRun: boolean) => {
      const { exitCode, streams } = await flow.rebuild({ dryRun });
      return { exitCode, streams: streams.map(({ stream, status }) => `${stream} ${status}`).toSorted() };
    };
    expect(await statuses(true)).toEqual({ exitCode: 5, streams: ['items failed', 'other planned'] });
    expect(await statuses(false)).toEqual({ exitCode: 5, streams: ['items failed', 'other rebuilt'] });
  });
});

describe('an archived scan whose header says another start date', () => {
  it('is not loaded: rows between the two dates would be deleted', async () => {
    const { flow } = await createSyncedFlow({
      stream: { key: ['id'], cursor: { field: 'date' }, deletes: 'hard' },
    });
    const before = await flow.table('items');
    const header = join(archiveOf(flow), listArchive(flow, '.json').toSorted().at(-1) ?? '');
    const text = readFileSync(header, 'utf8');
    const other = text.replace(/("from": "2026-0)\d-\d\d/, '$11-01');
    expect(other).not.toBe(text);
    writeFileSync(header, other);
    expect(await flow.rebuild()).toMatchObject({
      exitCode: 6,
      streams: [
        {
          error: {
            code: 'archive_incomplete',
            message: expect.stringContaining(header) as unknown,
          },
        },
      ],
    });
    expect(await flow.table('items')).toEqual(before);
  });
});

describe('the archive', () => {
  it('stores what did not change once', async () => {
    const flow = createItemsFlow(items);
    await flow.sync();
    await flow.sync({ fullRefresh: true });
    expect(listArchive(flow, '.json')).toHaveLength(2);
    expect(contentOf(flow)).toHaveLength(1);
    expect(await flow.rebuild()).toMatchObject({ exitCode: 0, streams: [{ scans: 2 }] });
  });

  it('is for its owner only', async () => {
    const flow = createItemsFlow(items);
    await flow.sync();
    expect(statSync(archiveOf(flow)).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(archiveOf(flow)))
      expect(statSync(join(archiveOf(flow), name)).mode & 0o777).toBe(0o600);
  });

  it('is not kept with retention.archive: 0, and what was kept goes', async () => {
    const flow = createItemsFlow(items);
    await flow.sync();
    await flow.sync({ force: true, config: { retention: { archive: '0' } } });
    expect(existsSync(archiveOf(flow))).toBe(false);
    expect((await flow.rebuild()).exitCode).toBe(6);
  });

  it('goes with its retention, but for what a rebuild needs', async () => {
    const retention = { archive: '3d' };
    const flow = createItemsFlow(items, {
      config: { retention, defaults: { fullRefreshEvery: '4d' } },
      endpoint: { dateField: 'date' },
    });
    for (let day = 0; day < 10; day += 1) {
      expect((await flow.sync()).exitCode).toBe(0);
      await nextDay(flow, (records) => [...records, makeItem(1_000 + day)]);
      expect((await flow.rebuild({ dryRun: true })).exitCode, `day ${day}`).toBe(0);
    }
    const modes = (await flow.query('SELECT mode FROM _sluice.stream_runs ORDER BY started_at')).map(
      ({ mode }) => mode,
    );
    expect(modes.filter((mode) => mode === 'full')).toHaveLength(3);
    expect(listArchive(flow, '.json').length).toBeLessThanOrEqual(5);
    const before = await readAll(flow);
    expect(await flow.rebuild()).toMatchObject({
      exitCode: 0,
      streams: [{ rowsBefore: 259, rowsAfter: 259 }],
    });
    // Runs and times of scans that the archive no longer has included.
    expect(await readAll(flow)).toEqual(before);
  });

  it('never keeps a sync from its end', async () => {
    const flow = createItemsFlow(items);
    const before = join(flow.stateDir, 'archive', 'items');
    await flow.sync({ config: { retention: { archive: '0' } } });
    rmSync(join(flow.stateDir, 'archive'), { recursive: true, force: true });
    writeFileSync(join(flow.stateDir, 'archive'), 'a file in the way');
    const report = await flow.sync({ fullRefresh: true });
    expect(report).toMatchObject({ exitCode: 0, streams: [{ status: 'complete' }] });
    expect(report.warnings.join()).toContain('the pages could not be archived');
    expect(eventsOf(flow, 'published')).toHaveLength(1);
    rmSync(join(flow.stateDir, 'archive'));
    expect(existsSync(before)).toBe(false);
    expect((await flow.rebuild()).exitCode).toBe(6);
    await flow.sync({ fullRefresh: true });
    expect((await flow.rebuild()).exitCode).toBe(0);
  });

  it('drops pages that hold what is left out by now, once everything was read again', async () => {
    const { flow } = await createSyncedFlow();
    const config = configOf({ columns: { name: { exclude: true } } });
    await flow.sync({ config, fullRefresh: true });
    expect(listArchive(flow, '.json')).toHaveLength(1);
    const [content = ''] = contentOf(flow);
    expect(zstdDecompressSync(readFileSync(content)).toString()).not.toContain('"name"');
  });
});

describe('a rebuild', () => {
  it('brings back what was lost with the state and the published file', async () => {
    const { flow } = await createSyncedFlow();
    const before = await readAll(flow);
    const look = async () => {
      const transport = createSimulatorTransport(flow.simulator, flow.clock, {});
      const { items: shown } = await runChecks(flow.settings(), { clock: flow.clock, transport });
      const status = await readStatus(flow.settings(), flow.clock.now());
      const told = shown.find(({ name }) => name === 'state folder')?.detail ?? '';
      return { hasArchive: status.hasArchive === true, isTold: told.includes('sluice rebuild loads it') };
    };
    expect(await look()).toEqual({ hasArchive: false, isTold: false });
    rmSync(join(flow.stateDir, 'work.duckdb'));
    rmSync(flow.duckdbPath);
    expect(await look()).toEqual({ hasArchive: true, isTold: true });
    expect(await flow.rebuild()).toMatchObject({ exitCode: 0, streams: [{ rowsBefore: undefined }] });
    expect(await readAll(flow)).toEqual(before);
    const report = await flow.sync({ force: true });
    expect(streamOf(report)).toMatchObject({ mode: 'incremental', rows: { inserted: 0, updated: 0 } });
  });

  it('is what check names where state and published file are damaged', async () => {
    const { flow } = await createSyncedFlow();
    const files = [join(flow.stateDir, 'work.duckdb'), flow.duckdbPath];
    for (const file of files) writeFileSync(file, Buffer.alloc(100_000, 'x'));
    const transport = createSimulatorTransport(flow.simulator, flow.clock, {});
    const report = await runChecks(flow.settings(), { clock: flow.clock, transport });
    const failed = report.items.filter(({ status }) => status === 'failed');
    expect(failed.map(({ name }) => name)).toEqual(['state folder', 'published file']);
    for (const { fix } of failed)
      expect(fix).toMatch(/^Both are damaged: .+ move both aside: `sluice rebuild`/);
    for (const file of files) rmSync(file);
    expect((await flow.rebuild()).exitCode).toBe(0);
  });

  it('creates no state with dryRun, and looks at what is published', async () => {
    const unsynced = createItemsFlow(items);
    expect(await unsynced.rebuild({ dryRun: true })).toMatchObject({ exitCode: 0, streams: [{ scans: 0 }] });
    expect(existsSync(unsynced.stateDir)).toBe(false);
    const { flow } = await createSyncedFlow();
    rmSync(join(flow.stateDir, 'work.duckdb'));
    const before = readdirSync(flow.stateDir);
    expect(await flow.rebuild({ dryRun: true })).toMatchObject({
      exitCode: 0,
      streams: [{ status: 'planned', scans: 2 }],
    });
    expect(readdirSync(flow.stateDir)).toEqual(before);
  });

  it('only says what it would do with dryRun', async () => {
    const { flow } = await createSyncedFlow();
    const { mtimeMs } = statSync(flow.duckdbPath);
    expect(await flow.rebuild({ dryRun: true })).toMatchObject({
      dryRun: true,
      exitCode: 0,
      runId: undefined,
      streams: [
        { status: 'planned', scans: 2, from: '2026-01-31T12:00:00.000Z', to: '2026-02-01T12:00:00.000Z' },
      ],
    });
    expect(statSync(flow.duckdbPath).mtimeMs).toBe(mtimeMs);
  });

  it('has nothing to do before the first sync', async () => {
    const flow = createItemsFlow(items);
    expect(await flow.rebuild()).toMatchObject({ exitCode: 0, streams: [{ status: 'empty' }] });
    expect(flow.isPublished()).toBe(false);
  });

  it('ends at a stop with the table as it was', async () => {
    const { flow } = await createSyncedFlow();
    const before = await readAll(flow);
    const controller = new AbortController();
    const report = await flow.rebuild({
      signal: controller.signal,
      onProgress: ({ type }) => {
        if (type === 'page-staged') controller.abort();
      },
    });
    expect(report).toMatchObject({ exitCode: 130, error: { code: 'aborted' } });
    expect(await readAll(flow)).toEqual(before);
    expect((await flow.rebuild()).exitCode).toBe(0);
    expect(await readAll(flow)).toEqual(before);
  });

  it('rebuilds one stream and leaves the others alone', async () => {
    const { flow } = await createSyncedFlow();
    await expect(flow.rebuild({ streams: ['itms'] })).rejects.toThrow('unknown stream "itms"; did you mean');
    expect(await flow.rebuild({ streams: ['items'] })).toMatchObject({ streams: [{ status: 'rebuilt' }] });
  });

  it('loads the slices of a stream in the order in which they were committed', async () => {
    const records = ['acme', 'globex'].flatMap((entity) =>
      makeItems(60).map((item) => ({ ...item, entity })),
    );
    const flow = createItemsFlow(records, {
      stream: { params: { entity: ['acme', 'globex'] }, sliceBy: ['entity'], deletes: 'soft' },
      endpoint: { dateField: 'date', filters: { entity: ['entity'] } },
    });
    expect((await flow.sync()).exitCode).toBe(0);
    await nextDay(flow, (all) => [...all.slice(5), { ...makeItem(900), entity: 'acme' }]);
    expect((await flow.sync({ fullRefresh: true })).exitCode).toBe(0);
    const before = await readAll(flow);
    const checkpoints = await flow.query('SELECT * FROM _sluice.checkpoints ORDER BY slice');
    expect(await flow.rebuild()).toMatchObject({ exitCode: 0, streams: [{ scans: 4 }] });
    expect(await readAll(flow)).toEqual(before);
    expect(await flow.query('SELECT * FROM _sluice.checkpoints ORDER BY slice')).toEqual(checkpoints);
  });

  it('keeps versions of rows that are older than the archive', async () => {
    const stream: StreamInput = { history: true, key: ['id'] };
    const flow = createItemsFlow(makeItems(30), { stream });
    await flow.sync();
    await nextDay(flow, ([first, ...others]) => [{ ...(first as object), name: 'restated' }, ...others]);
    await flow.sync({ fullRefresh: true });
    rmSync(join(archiveOf(flow), listArchive(flow, '.json')[0] ?? ''));
    const versions = 'SELECT * FROM main.items_history ORDER BY id, _valid_from';
    const before = await flow.query(versions);
    expect(before).toHaveLength(31);
    const rows = await readAll(flow);
    expect(await flow.rebuild()).toMatchObject({ exitCode: 0, streams: [{ scans: 1 }] });
    expect(await flow.query(versions)).toEqual(before);
    expect(await readAll(flow)).toEqual(rows);
    // By another type every row has another value, and so another version.
    const config = configOf({ ...stream, columns: { amount: { type: 'VARCHAR' } } });
    expect((await flow.rebuild({ config })).exitCode).toBe(0);
    const open = `SELECT id FROM main.items_history WHERE _valid_to IS NULL`;
    expect(await flow.query(open)).toHaveLength(30);
  });

  it('takes an unpaginated stream, and one without a key', async () => {
    const rows = makeItems(40).map(({ date }, at) => ({ date, kind: at % 3 }));
    const flow = createItemsFlow(rows, { endpoint: { paginated: false }, stream: { paginated: false } });
    await flow.sync();
    await flow.clock.sleep(2 * HOUR_MS);
    flow.simulator.editRecords('items', (records) => records.slice(3));
    await flow.sync();
    const before = await readAll(flow);
    expect(before.rows).toHaveLength(37);
    expect(await flow.rebuild()).toMatchObject({ exitCode: 0 });
    expect(await readAll(flow)).toEqual(before);
  });
});
