import { createHmac } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { connectors } from '../../connectors/registry.ts';
import { parseConfig } from '../../src/config/load-config.ts';
import { resolveSettings } from '../../src/config/resolve-settings.ts';
import type { Settings } from '../../src/model/settings.ts';
import { runChecks } from '../../src/commands/check.ts';
import { planOffline, planSync } from '../../src/commands/plan/plan.ts';
import { rebuildStreams } from '../../src/commands/rebuild/rebuild.ts';
import { resetState } from '../../src/commands/state/change-state.ts';
import { errorStatus, unauthorized } from '../../src/simulator/fault-effects.ts';
import { when } from '../../src/simulator/faults.ts';
import { archiveOf, listArchive } from '../support/archive-files.ts';
import { changeFile } from '../support/damage-file.ts';
import { createSimulatorTransport } from '../support/simulator-transport.ts';
import {
  buildConfig,
  createItemsFlow,
  DAY_MS,
  type Flow,
  type ItemsOptions,
  makeItems,
  noBuiltIns,
  streamOf,
} from '../support/sync-harness.ts';

const HASH_KEY = 'the key of these tests';
const EMAIL = 'person.of.interest';
const SSN = '078-05-1120';
const NESTED = 'rue-de-la-paix';
const NEEDLES = [EMAIL, SSN, NESTED];

const PEOPLE = makeItems(400).map((item) => ({
  ...item,
  email: `${EMAIL}${item.id % 50}@example.com`,
  ssn: `${SSN}-${item.id}`,
  profile: { addresses: [{ street: `${NESTED} ${item.id}`, city: `city ${item.id % 7}` }] },
}));

const masks = {
  email: { hash: true },
  ssn: { exclude: true },
  'profile.addresses.street': { exclude: true },
} as const;

const hashOf = (text: string, key = HASH_KEY) => createHmac('sha256', key).update(text).digest('hex');

function createPeopleFlow(options: ItemsOptions = {}, records: readonly unknown[] = PEOPLE): Flow {
  return createItemsFlow(records, {
    ...options,
    stream: { columns: masks, ...options.stream },
    config: { ...options.config, defaults: { hashKey: HASH_KEY, ...options.config?.defaults } },
  });
}

/** Settings of the flow's project with the masks on. */
function settingsOf(flow: Flow): Settings {
  const { duckdbPath, stateDir, folder, clock } = flow;
  const config = {
    defaults: { hashKey: HASH_KEY },
    streams: { ...noBuiltIns, items: { path: 'items', paginated: true, columns: masks } },
  };
  return resolveSettings({
    loaded: parseConfig(buildConfig({ duckdbPath, stateDir, ledgerDir: join(folder, 'quota') }, config)),
    connectors,
    env: {},
    nowMs: clock.now(),
  });
}

function listFiles(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile());
}

/** Files below a folder that hold one of the texts, archives unpacked. */
function findLeaks(folder: string, needles: readonly string[] = NEEDLES): readonly string[] {
  return listFiles(folder).filter((file) => {
    const bytes = readFileSync(file);
    const text = (file.endsWith('.zst') ? zstdDecompressSync(bytes) : bytes).toString('latin1');
    return needles.some((needle) => text.includes(needle));
  });
}

describe('excluded and hashed fields', () => {
  it('reach no file, and the rest of the data does', async () => {
    const flow = createPeopleFlow();
    const report = await flow.sync();
    expect(report.exitCode).toBe(0);
    expect(streamOf(report)).toMatchObject({ verdict: 'verified', rowsInTable: 400 });
    expect(findLeaks(flow.folder)).toEqual([]);
    const { columns } = await flow.table('items');
    expect(Object.keys(columns)).toEqual(
      expect.arrayContaining(['id', 'date', 'name', 'amount', 'email', 'profile__addresses']),
    );
    expect(columns).not.toHaveProperty('ssn');
    expect(await flow.query('SELECT count(DISTINCT email) AS n FROM main.items')).toEqual([{ n: 50 }]);
    const [row] = await flow.query('SELECT email, profile__addresses AS a FROM main.items WHERE id = 7');
    expect(row).toEqual({ email: hashOf(`${EMAIL}7@example.com`), a: [{ city: 'city 0' }] });
  });

  it('reach no file of a run that ends in the middle, nor of the one that continues from there', async () => {
    const flow = createPeopleFlow({ config: { quota: { burstPerSecond: 1 } } });
    flow.simulator.setFaults([when({ nth: 3, count: Infinity }, unauthorized())]);
    expect((await flow.sync()).exitCode).toBe(3);
    const staged = listFiles(join(flow.stateDir, 'stage')).find((file) => file.endsWith('records.ndjson'));
    expect(readFileSync(staged ?? '', 'utf8')).toContain(hashOf(`${EMAIL}7@example.com`));
    expect(findLeaks(flow.folder)).toEqual([]);
    flow.simulator.setFaults([]);
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 0, requests: 5 });
    expect(findLeaks(flow.folder)).toEqual([]);
  });

  it('reach no file of an unpaginated stream', async () => {
    const flow = createPeopleFlow({ endpoint: { paginated: false }, stream: { paginated: false } });
    expect((await flow.sync()).exitCode).toBe(0);
    expect(await flow.rows('items')).toHaveLength(400);
    expect(findLeaks(flow.folder)).toEqual([]);
  });

  it('reach neither quarantine nor its reasons', async () => {
    const bad = { ...PEOPLE[0], id: 9_999 };
    const flow = createPeopleFlow({ stream: { maxInvalidRatio: 1 } }, [
      ...PEOPLE,
      [bad],
      [[{ ssn: SSN, kept: 'kept text' }]],
    ]);
    const report = await flow.sync();
    expect(streamOf(report).rows.quarantined).toBe(2);
    const records = await flow.query('SELECT record FROM _sluice.quarantine ORDER BY record');
    expect(JSON.stringify(records)).toContain('kept text');
    expect(JSON.stringify(records)).toContain(hashOf(`${EMAIL}0@example.com`));
    expect(findLeaks(flow.folder)).toEqual([]);
  });

  it('reach no message about an answer that cannot be read', async () => {
    const flow = createPeopleFlow();
    flow.simulator.setFaults([
      when({ nth: 1, count: Infinity }, () => ({
        body: `{"data":[{"email":"${EMAIL}@example.com","ssn":"${SSN}"`,
      })),
    ]);
    const report = await flow.sync();
    expect(streamOf(report).error?.code).toBe('page_unreadable');
    expect(JSON.stringify([report, flow.events])).not.toContain(EMAIL);
    expect(findLeaks(flow.folder)).toEqual([]);
  });

  it('keep joints and the key apart from what was masked', async () => {
    const flow = createPeopleFlow({ stream: { columns: { ...masks, id: { hash: true } }, key: ['id'] } });
    const report = await flow.sync();
    expect(streamOf(report)).toMatchObject({
      verdict: 'verified',
      key: { columns: ['id'], origin: 'config' },
    });
    expect(await flow.query('SELECT count(DISTINCT id) AS n FROM main.items')).toEqual([{ n: 400 }]);
  });
});

describe('a key that is hashed from now on', () => {
  const rows = makeItems(60);
  const hashed = { key: ['id'], columns: { id: { hash: true } } } as const;
  const configOf = (items: object) => ({
    config: {
      defaults: { hashKey: HASH_KEY },
      streams: { ...noBuiltIns, items: { path: 'items', paginated: true, ...items } },
    },
  });

  async function expectRefused(flow: Flow, parts: object, message: RegExp): Promise<void> {
    const report = await flow.sync({ force: true, ...configOf(parts) });
    expect(flow.arrivals).toEqual([]);
    expect(streamOf(report).error).toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(message) as string,
      hint: expect.stringContaining('state reset items --drop-tables') as string,
    });
  }

  it.each(['keep', 'soft', 'hard'] as const)(
    'is refused before a request, and rebuilt from the archive, with deletes: %s',
    async (deletes) => {
      const flow = createItemsFlow(rows, { stream: { key: ['id'], deletes } });
      await flow.sync();
      const hash = { ...hashed, deletes };
      await expectRefused(flow, hash, /its key \(id\) is hashed from now on, .* 60 existing rows/);
      expect(await flow.rebuild(configOf(hash))).toMatchObject({ exitCode: 0 });
      const report = await flow.sync({ force: true, fullRefresh: true, ...configOf(hash) });
      expect(streamOf(report)).toMatchObject({
        verdict: 'verified',
        rowsInTable: 60,
        rows: { inserted: 0, updated: 0, unchanged: 60, deleted: 0 },
      });
      await expectRefused(flow, { key: ['id'], deletes }, /its key \(id\) is no longer hashed/);
    },
  );

  it('is not taken away by a rebuild from scans of a part, which would add their rows once more', async () => {
    const visits = makeItems(60, { perDay: 6 }).map(({ id, date }) => ({ id: id % 6, date, visits: id }));
    const flow = createItemsFlow(visits, { endpoint: { dateField: 'date' } });
    expect(streamOf(await flow.sync()).key?.columns).toEqual(['date', 'id']);
    await flow.clock.sleep(DAY_MS);
    flow.simulator.editRecords('items', () =>
      visits.map((row, at) => (at > 50 ? { ...row, visits: 1 } : row)),
    );
    expect(streamOf(await flow.sync()).mode).toBe('incremental');
    const held = await flow.rows('items');
    const report = await flow.rebuild(configOf({ columns: { id: { exclude: true }, date: { hash: true } } }));
    expect(report.streams[0]?.error).toMatchObject({
      code: 'archive_incomplete',
      hint: expect.stringContaining('Take the rule out again; or start over') as string,
    });
    expect(await flow.rows('items')).toEqual(held);
  });

  it('is learned where the table had none, and replaces its rows', async () => {
    const grid = Array.from({ length: 60 }, (_, at) => ({
      code: `c${at % 10}`,
      name: `n${Math.floor(at / 10)}`,
    }));
    const columns = { code: { exclude: true }, name: { hash: true } } as const;
    const flow = createItemsFlow(grid);
    expect(streamOf(await flow.sync(configOf({ cursor: false, columns }))).key).toBeUndefined();
    const report = await flow.sync({ force: true, ...configOf({ cursor: false }) });
    expect(report.exitCode, report.error?.message).toBe(0);
    expect(streamOf(report)).toMatchObject({
      verdict: 'verified',
      rowsInTable: 60,
      key: { columns: ['code', 'name'] },
    });
  });

  it('is not sent from one command to the other where rows are older than the archive', async () => {
    const flow = createItemsFlow(rows, { stream: { key: ['id'], deletes: 'keep' } });
    await flow.sync();
    await flow.clock.sleep(DAY_MS);
    flow.simulator.editRecords('items', (all) => all.slice(1));
    await flow.sync({ fullRefresh: true });
    const [oldest = ''] = listArchive(flow, '.json').toSorted();
    rmSync(join(archiveOf(flow), oldest));
    const { streams } = await flow.rebuild(configOf({ ...hashed, deletes: 'keep' }));
    expect(streams).toMatchObject([
      {
        error: {
          code: 'archive_incomplete',
          message: expect.stringContaining('its key is hashed from now on') as string,
          hint: expect.stringMatching(
            /rebuild items --archived-only.*state reset items --drop-tables/,
          ) as string,
        },
      },
    ]);
    const only = { archivedOnly: true, ...configOf({ ...hashed, deletes: 'keep' }) };
    expect(await flow.rebuild(only)).toMatchObject({ exitCode: 0 });
    const report = await flow.sync({ force: true, ...configOf({ ...hashed, deletes: 'keep' }) });
    expect(streamOf(report)).toMatchObject({ verdict: 'verified', rowsInTable: 59 });
  });

  it('is told by check and plan, which say what the sync says, and plans no request of it', async () => {
    const flow = createItemsFlow(rows, { stream: { key: ['id'] } });
    await flow.sync();
    const { clock } = flow;
    const options = { clock, transport: createSimulatorTransport(flow.simulator, clock) };
    const changed = flow.settings(configOf(hashed).config);
    const refused = {
      code: 'config_invalid',
      message: expect.stringContaining('is hashed from now on') as string,
    };
    const failed = { action: 'failed', requests: 0, error: refused };
    expect(await planSync(changed, options)).toMatchObject({ streams: [failed], requestsSpent: 0 });
    expect(await planOffline(changed, options)).toMatchObject({ streams: [failed] });
    const checked = await runChecks(changed, options);
    expect(checked).toMatchObject({ ok: false, exitCode: 2, error: refused });
    expect(checked.items).toContainEqual(
      expect.objectContaining({ name: 'items', status: 'failed', detail: refused.message }),
    );
    const same = flow.settings(configOf({ key: ['id'] }).config);
    expect(await runChecks(same, options)).toMatchObject({ ok: true });
  });

  it('is told by plan for each slice, as by the sync', async () => {
    const sliced = { key: ['id'], params: { entity: ['acme', 'globex'] }, sliceBy: ['entity'] };
    const both = sliced.params.entity.flatMap((entity) => rows.map((row) => ({ ...row, entity })));
    const flow = createItemsFlow(both, {
      endpoint: { filters: { entity: ['entity'] } },
      stream: { ...sliced, params: { entity: ['globex'] } },
    });
    await flow.sync();
    const changed = flow.settings(configOf({ ...sliced, columns: hashed.columns }).config);
    const { streams } = await planOffline(changed, { clock: flow.clock });
    expect(streams.map(({ slice, action }) => [slice, action])).toEqual([
      ['entity=acme', 'failed'],
      ['entity=globex', 'failed'],
    ]);
  });

  it.each([
    ['hashed from now on', {}, hashed, undefined, /Take the rule out again; or start over/],
    ['no longer hashed', hashed, {}, undefined, /Restore the rule; or start over/],
    [
      'hashed with another key',
      hashed,
      hashed,
      'another key of 16 letters',
      /Restore the old hashKey; or start/,
    ],
  ])(
    'and that is %s starts over where the archive cannot give it',
    async (_, before, after, hashKey, way) => {
      const given = { key: ['id'], deletes: 'hard' };
      const flow = createItemsFlow(rows);
      await flow.sync(configOf({ ...given, ...before }));
      rmSync(archiveOf(flow), { recursive: true });
      const { config } = configOf({ ...given, ...after });
      const changed = { config: { ...config, ...(hashKey !== undefined && { defaults: { hashKey } }) } };
      for (const dryRun of [true, false]) {
        const { streams } = await flow.rebuild({ ...changed, dryRun });
        expect(streams[0]?.error).toMatchObject({
          code: 'archive_incomplete',
          hint: expect.stringMatching(way) as string,
        });
        // A sync would send its user back.
        expect(streams[0]?.error?.hint).not.toContain('--full-refresh');
      }
      const yes = { clock: flow.clock, confirm: () => Promise.resolve(true) };
      await resetState(flow.settings(changed.config), { ...yes, streams: ['items'], dropTables: true });
      expect(streamOf(await flow.sync(changed))).toMatchObject({ verdict: 'verified', rowsInTable: 60 });
    },
  );

  it('is told apart from a rule of another field, and from one that is only spelled differently', async () => {
    const flow = createItemsFlow(rows, { stream: { key: ['id'] } });
    expect(streamOf(await flow.sync(configOf(hashed))).verdict).toBe('verified');
    const other = { key: ['id'], columns: { name: { hash: true } } };
    await expectRefused(flow, other, /its key \(id\) is no longer hashed/);
    const spelled = { key: ['id'], columns: { Id: { hash: true } } };
    expect(streamOf(await flow.sync({ force: true, fullRefresh: true, ...configOf(spelled) }))).toMatchObject(
      {
        verdict: 'verified',
        rowsInTable: 60,
        rows: { inserted: 0, updated: 0, unchanged: 60 },
      },
    );
  });

  it('is refused after the scan where the state was reset and the table was not', async () => {
    const flow = createItemsFlow(rows, { stream: { key: ['id'] } });
    await flow.sync();
    await resetState(flow.settings(), { clock: flow.clock, confirm: () => Promise.resolve(true) });
    const report = await flow.sync({ force: true, ...configOf(hashed) });
    expect(streamOf(report).error).toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('is hashed from now on') as string,
    });
    expect((await flow.rows('items')).length).toBe(60);
  });

  it.each(['keep', 'hard'] as const)(
    'is refused before a request where a new slice is read first, with deletes: %s',
    async (deletes) => {
      const both = ['acme', 'globex'].flatMap((entity) => rows.map((row) => ({ ...row, entity })));
      const sliceInto = (entity: string[]) => ({
        key: ['id'],
        params: { entity },
        sliceBy: ['entity'],
        deletes,
      });
      const flow = createItemsFlow(both, {
        endpoint: { filters: { entity: ['entity'] } },
        stream: sliceInto(['globex']),
      });
      await flow.sync();
      const hash = { ...sliceInto(['acme', 'globex']), columns: hashed.columns };
      await expectRefused(flow, hash, /acme.*its key \(id\) is hashed from now on, .* 60 existing rows/);
      expect(await flow.rebuild(configOf(hash))).toMatchObject({ exitCode: 0 });
      const report = await flow.sync({ force: true, ...configOf(hash) });
      expect(report.streams.map(({ verdict, rowsInTable }) => [verdict, rowsInTable])).toEqual([
        ['verified', 60],
        ['verified', 60],
      ]);
      expect(await flow.query('SELECT count(*) AS n FROM main.items')).toEqual([{ n: 120 }]);
    },
  );

  it('does not matter where the config names another key as well, or the table has no rows', async () => {
    const flow = createItemsFlow(rows, { stream: { key: ['id'] } });
    await flow.sync();
    const other = configOf({ ...hashed, key: ['name'] });
    expect(streamOf(await flow.sync({ force: true, ...other }))).toMatchObject({
      verdict: 'verified',
      rowsInTable: 60,
    });
    const empty = createItemsFlow([], { stream: { key: ['id'] } });
    await empty.sync();
    empty.simulator.editRecords('items', () => rows);
    const report = await empty.sync({ force: true, ...configOf(hashed) });
    expect(streamOf(report)).toMatchObject({ verdict: 'verified', rowsInTable: 60 });
  });
});

describe('another hash key', () => {
  const other = { defaults: { hashKey: 'another key of the tests' } };
  const byEmail = makeItems(60).map((item) => ({ ...item, email: `${EMAIL}${item.id}@example.com` }));
  const columns = { email: { hash: true } } as const;
  const cause = /^items: defaults\.hashKey changed since its last sync, and its key \(email\) is hashed/;

  it.each(['soft', 'hard'] as const)(
    'for the field of a key is named as what it is, not as rows that went (deletes: %s)',
    async (deletes) => {
      const flow = createPeopleFlow({ stream: { columns, key: ['email'], deletes, cursor: false } }, byEmail);
      expect((await flow.sync()).exitCode).toBe(0);
      const before = await flow.rows('items');
      for (let times = 0; times < 2; times += 1) {
        const { error } = streamOf(await flow.sync({ config: other, force: true }));
        expect(error).toMatchObject({
          exitCode: 2,
          code: 'config_invalid',
          message: expect.stringMatching(cause) as unknown,
        });
        expect(error?.hint).toContain('sluice state reset items --drop-tables');
        expect(await flow.rows('items')).toEqual(before);
      }
      // Either way out works.
      expect(streamOf(await flow.sync({ force: true }))).toMatchObject({
        status: 'complete',
        rows: { unchanged: 60 },
      });
      const settings = flow.settings(other);
      await resetState(settings, {
        dropTables: true,
        confirm: () => Promise.resolve(true),
        clock: flow.clock,
      });
      expect(streamOf(await flow.sync({ config: other }))).toMatchObject({
        status: 'complete',
        rows: { inserted: 60 },
      });
      const [row] = await flow.query(`SELECT email FROM main.items WHERE id = 0`);
      expect(row).toEqual({ email: hashOf(`${EMAIL}0@example.com`, other.defaults.hashKey) });
    },
  );

  it('for the field of a key is a warning where rows are kept, once', async () => {
    const flow = createPeopleFlow({ stream: { columns, key: ['email'], cursor: false } }, byEmail);
    await flow.sync();
    const report = await flow.sync({ config: other });
    expect(report).toMatchObject({ exitCode: 0, warnings: [expect.stringMatching(cause)] });
    expect(streamOf(report)).toMatchObject({ rows: { inserted: 60 }, rowsInTable: 120 });
    expect(await flow.sync({ config: other, force: true })).toMatchObject({ exitCode: 0, warnings: [] });
  });

  it('for other fields changes their values and nothing else, and is remembered without being told', async () => {
    const flow = createPeopleFlow(
      { stream: { columns, key: ['id'], deletes: 'hard', cursor: false } },
      byEmail,
    );
    await flow.sync();
    const remembered = () => flow.query(`SELECT value FROM _sluice.meta WHERE key = 'masks.items'`);
    const [before] = await remembered();
    expect(before?.['value']).toMatch(/^\{"email":"hash:[0-9a-f]{12}"\}$/);
    const report = await flow.sync({ config: other });
    expect(report).toMatchObject({ exitCode: 0, warnings: [], rows: { updated: 60, deleted: 0 } });
    const [after] = await remembered();
    expect(after).not.toEqual(before);
    // A user who has the state learns no more of the key than from one hashed value.
    expect(findLeaks(flow.folder, [HASH_KEY, other.defaults.hashKey])).toEqual([]);
  });

  it('of a state that does not know by which key it hashed is taken as it is', async () => {
    const flow = createPeopleFlow(
      { stream: { columns, key: ['email'], deletes: 'hard', cursor: false } },
      byEmail,
    );
    await flow.sync();
    await changeFile(
      join(flow.stateDir, 'work.duckdb'),
      `UPDATE _sluice.meta SET value = '{"email":"hash"}' WHERE key = 'masks.items'`,
    );
    expect(await flow.sync({ force: true })).toMatchObject({
      exitCode: 0,
      warnings: [],
      rows: { unchanged: 60 },
    });
  });
});

describe('rules that no field is found for', () => {
  const misspelt = {
    columns: { ...masks, e_mial: { hash: true as const }, 'profile.phone': { exclude: true as const } },
  };
  const warning = 'streams.items.columns names e_mial, profile.phone, which no record has';

  it('are reported, since a misspelt one leaves data as it is', async () => {
    expect((await createPeopleFlow({ stream: misspelt }).sync()).warnings).toEqual([warning]);
    const whole = { endpoint: { paginated: false }, stream: { ...misspelt, paginated: false } };
    expect((await createPeopleFlow(whole).sync()).warnings).toEqual([warning]);
  });

  it('are not told of by a run that did not see every page', async () => {
    const flow = createPeopleFlow({ stream: misspelt, config: { quota: { burstPerSecond: 1 } } });
    flow.simulator.setFaults([when({ nth: 3, count: Infinity }, unauthorized())]);
    await flow.sync();
    flow.simulator.setFaults([]);
    expect((await flow.sync()).warnings).toEqual([]);
    expect((await createPeopleFlow({ stream: misspelt }).sync({ limit: 150 })).warnings).toEqual([]);
  });

  it('are none where every rule found one', async () => {
    expect((await createPeopleFlow().sync()).warnings).toEqual([]);
  });
});

describe('rules that change', () => {
  it('leave nothing of what earlier runs stored: tables, history, quarantine, archive, free space', async () => {
    const rows = [...PEOPLE, [{ ssn: `${SSN}-in quarantine` }]];
    const flow = createPeopleFlow({ stream: { columns: {}, maxInvalidRatio: 1, history: true } }, rows);
    await flow.sync();
    expect(findLeaks(flow.folder).map((file) => file.replace(/[0-9a-f]{32}/, 'hash'))).toEqual(
      expect.arrayContaining([flow.duckdbPath, join(flow.stateDir, 'work.duckdb')]),
    );
    expect(findLeaks(flow.folder).some((file) => file.endsWith('.zst'))).toBe(true);
    const before = await flow.query('SELECT id, name FROM main.items ORDER BY id');
    await flow.clock.sleep(60_000);
    const stream = { path: 'items', paginated: true, columns: masks, maxInvalidRatio: 1, history: true };
    const report = await flow.sync({ config: { streams: { items: stream } } });
    expect(report.exitCode).toBe(0);
    expect(findLeaks(flow.folder)).toEqual([]);
    expect(await flow.query('SELECT id, name FROM main.items ORDER BY id')).toEqual(before);
    expect(await flow.query('SELECT count(*) AS n FROM main.items_history WHERE _valid_to IS NULL')).toEqual([
      { n: 400 },
    ]);
    // And the rewritten file works like any other.
    const next = await flow.sync({ config: { streams: { items: stream } }, fullRefresh: true });
    expect(streamOf(next)).toMatchObject({ rows: { inserted: 0, updated: 0, unchanged: 400 } });
    expect(findLeaks(flow.folder)).toEqual([]);
  });

  it('void freshness: the next sync reads everything again', async () => {
    const flow = createPeopleFlow({ stream: { columns: { ssn: { exclude: true } } } });
    await flow.sync();
    expect(streamOf(await flow.sync()).status).toBe('fresh');
    const report = await flow.sync({
      config: { streams: { items: { path: 'items', paginated: true, columns: masks } } },
    });
    expect(streamOf(report)).toMatchObject({ status: 'complete', mode: 'full' });
  });

  it('leave nothing after a rebuild either, which asks the API for nothing', async () => {
    const flow = createPeopleFlow({ stream: { columns: {} } });
    await flow.sync();
    await flow.clock.sleep(60_000);
    const arrivals = flow.simulator.arrivals.requests;
    const report = await rebuildStreams(settingsOf(flow), { clock: flow.clock });
    expect(report).toMatchObject({ exitCode: 0, streams: [{ status: 'rebuilt' }] });
    expect(flow.simulator.arrivals.requests).toBe(arrivals);
    expect(findLeaks(flow.folder)).toEqual([]);
    expect(await flow.query('SELECT email FROM main.items WHERE id = 7')).toEqual([
      { email: hashOf(`${EMAIL}7@example.com`) },
    ]);
  });

  it('void it with another key too, and every hash is another', async () => {
    const flow = createPeopleFlow();
    await flow.sync();
    const report = await flow.sync({ config: { defaults: { hashKey: 'another key of the tests' } } });
    expect(streamOf(report)).toMatchObject({ status: 'complete', mode: 'full', rowsInTable: 400 });
    const [row] = await flow.query('SELECT email FROM main.items WHERE id = 7');
    expect(row).toEqual({ email: hashOf(`${EMAIL}7@example.com`, 'another key of the tests') });
  });

  it('do not void a stream without hashes when the key changes', async () => {
    const flow = createPeopleFlow({ stream: { columns: { ssn: { exclude: true } } } });
    await flow.sync();
    const report = await flow.sync({ config: { defaults: { hashKey: 'another key of the tests' } } });
    expect(streamOf(report).status).toBe('fresh');
  });

  it.each([
    ['of the scan', {}, 'items'],
    ['of a look aside', { limit: 250 }, 'items.aside'],
  ])('remove raw pages %s, even where the next run gets nowhere', async (_, options, name) => {
    const flow = createPeopleFlow({ stream: { columns: {} }, config: { quota: { burstPerSecond: 1 } } });
    flow.simulator.setFaults([when({ nth: 3, count: Infinity }, unauthorized())]);
    await flow.sync(options);
    const folder = join(flow.stateDir, 'stage', name);
    expect(findLeaks(folder)).toHaveLength(1);
    flow.simulator.setFaults([errorStatus(500)]);
    const masked = { streams: { items: { path: 'items', paginated: true, columns: masks } } };
    await flow.sync({ config: masked });
    expect(findLeaks(flow.folder)).toEqual([]);
    flow.simulator.setFaults([]);
    expect((await flow.sync({ config: masked })).exitCode).toBe(0);
    expect(existsSync(folder)).toBe(false);
  });

  it('keep staged pages of streams that are not affected', async () => {
    const flow = createPeopleFlow({ config: { quota: { burstPerSecond: 1 } } });
    flow.simulator.setFaults([when({ nth: 3, count: Infinity }, unauthorized())]);
    await flow.sync();
    flow.simulator.setFaults([]);
    // Five requests again, and not seven: two pages were on the disk.
    const other = {
      items: { path: 'items', paginated: true, columns: masks },
      item: { path: 'items', paginated: true, columns: { a: { exclude: true as const } } },
    };
    expect(streamOf(await flow.sync({ config: { streams: other }, streams: ['items'] })).requests).toBe(5);
  });
});

describe('plan', () => {
  it('finds the staged pages of masked streams', async () => {
    const flow = createPeopleFlow({ config: { quota: { burstPerSecond: 1 } } });
    flow.simulator.setFaults([when({ nth: 3, count: Infinity }, unauthorized())]);
    await flow.sync();
    flow.simulator.setFaults([]);
    const { clock } = flow;
    const plan = await planSync(settingsOf(flow), {
      streams: ['items'],
      clock,
      transport: createSimulatorTransport(flow.simulator, clock),
    });
    expect(plan.streams[0]).toMatchObject({ action: 'resume' });
  });
});
