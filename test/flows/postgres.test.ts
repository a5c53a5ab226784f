import { cpSync } from 'node:fs';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { verifyState } from '../../src/commands/verify/verify.ts';
import { COMPARE_FIX } from '../../src/publish/published-file.ts';
import { SyncError } from '../../src/model/errors.ts';
import { toLakeSchema } from '../../src/publish/lakehouse/names.ts';
import { Postgres } from '../../src/publish/lakehouse/postgres/postgres.ts';
import type { RunReport } from '../../src/model/run-report.ts';
import { rawJson } from '../../src/simulator/raw-json.ts';
import { quoteLiteral } from '../../src/warehouse/identifiers.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { type LakeReader, openReader } from '../support/ducklake-reader.ts';
import { findExtensions, type PostgresServer, startPostgres } from '../support/lake-servers.ts';
import { type CuttingSocket, startCuttingSocket } from '../support/cutting-socket.ts';
import { countRuns, createRandom, seed } from '../support/seeds.ts';
import { createItemsFlow, type Flow, type FlowConfig, makeItems } from '../support/sync-harness.ts';
import {
  describeLakehouse,
  expectEqual,
  expectRepaired,
  expectVerified,
  ITEMS,
  type LakeFlow,
  setRecords,
  syncWell,
} from './lakehouse-suite.ts';

const engine = { extensionDirectory: findExtensions() ?? '' };

const stream = { key: ['id'], cursor: { field: 'date' } };
const all = { key: ['id'], cursor: { field: 'date', lookback: '60d' } };

type Rows = Awaited<ReturnType<LakeReader['rows']>>;

describeWithServers('Postgres', () => {
  let postgres: PostgresServer;
  let socket: CuttingSocket;
  let databases = 0;

  beforeAll(async () => {
    postgres = await startPostgres();
    socket = await startCuttingSocket(postgres.port);
  });
  afterAll(async () => {
    await socket.stop();
    await postgres.stop();
  });

  interface Database extends LakeFlow {
    readonly url: string;
    readonly config: FlowConfig;
  }

  async function create(
    records: Parameters<typeof createItemsFlow>[0],
    { config: own, ...parts }: NonNullable<Parameters<typeof createItemsFlow>[1]> = {},
  ): Promise<Database> {
    databases += 1;
    const url = await postgres.createDatabase(`warehouse${databases}`);
    const schema = databases % 2 === 0 ? 'public' : 'analytics';
    const destination = {
      duckdb: './warehouse.duckdb',
      postgres: { url, ...(schema !== 'public' && { schema }) },
    };
    const config = { ...own, destination, engine };
    const flow = createItemsFlow(records, { ...parts, config });
    return { flow, open: (options) => openServer(url, options), schema, url, config };
  }

  /** Runs statements of Postgres, and gives the rows of the last one. */
  async function ask(url: string, ...statements: readonly string[]): Promise<Rows> {
    const reader = await openServer(url, '');
    try {
      for (const statement of statements.slice(0, -1))
        await reader.run(`CALL postgres_execute('lake', ${quoteLiteral(statement)})`);
      const last = statements.at(-1) ?? '';
      return await reader.rows(
        /^SELECT/.test(last)
          ? `FROM postgres_query('lake', ${quoteLiteral(last)})`
          : `CALL postgres_execute('lake', ${quoteLiteral(last)})`,
      );
    } finally {
      reader.close();
    }
  }

  async function fail(flow: Flow, config?: FlowConfig): Promise<SyncError | RunReport> {
    return flow
      .sync({ force: true, ...(config && { config }) })
      .catch((thrown: unknown) => thrown as SyncError);
  }

  function wordsOf(end: SyncError | RunReport): string {
    const error = end instanceof SyncError ? end : end.error;
    return `${error?.message} ${error?.hint}`;
  }

  describeLakehouse('in a database', 0, () => ({
    title: 'Postgres',
    days: countRuns(3),
    withViews: ' CASCADE',
    create,
  }));

  it.each<[string, (schema: string, own: string) => readonly string[]]>([
    ['whose schema was dropped', (schema) => [`DROP SCHEMA ${schema} CASCADE`]],
    ['whose checksums were dropped', (_, own) => [`DROP TABLE ${own}.lake_parts`]],
    ['whose checksums lost a column', (_, own) => [`ALTER TABLE ${own}.lake_parts DROP COLUMN sum`]],
    ['whose list of columns is no JSON', (_, own) => [`UPDATE ${own}.lake_tables SET columns = 'x'`]],
  ])('%s, is not verified, and repaired by the next sync', async (_, damage) => {
    const lake = await create(ITEMS, { stream: all });
    const { schema, url } = lake;
    await expectRepaired(lake, 'Postgres', () => ask(url, ...damage(schema, `_sluice_${schema}`)));
  });

  it('refuses a view in the place of a table, says so, and is whole again without it', async () => {
    const lake = await create(ITEMS, { stream: all });
    await syncWell(lake.flow);
    const { schema, url } = lake;
    await ask(url, `DROP TABLE ${schema}.items CASCADE`, `CREATE VIEW ${schema}.items AS SELECT 1 AS id`);
    const end = await fail(lake.flow);
    expect(wordsOf(end)).toContain('something with that name is there that Sluice did not make');
    expect(wordsOf(end)).not.toMatch(/CREATE TABLE/);
    await ask(url, `DROP VIEW ${schema}.items`);
    await syncWell(lake.flow);
    await expectEqual(lake);
    await expectVerified(lake.flow, 'Postgres');
  });

  it('has the types that people expect, and exact values', async () => {
    const values = {
      tags: ['a', 'b'],
      price: rawJson('12345678901234.5678'),
      isNew: true,
      at: '2026-01-31T10:00:00.123456Z',
      text: `it's "quoted" \\N 😀\n`,
      whole: rawJson('170141183460469231731687303715884105727'),
    };
    const lake = await create(
      ITEMS.map((item) => ({ ...item, ...values })),
      { stream },
    );
    await syncWell(lake.flow);
    await expectEqual(lake);
    const rows = await ask(
      lake.url,
      `SELECT attname::text AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
         WHERE attrelid = '${lake.schema}.items'::regclass AND attnum > 0 AND attname IN ('id', 'date', 'tags', 'is_new', 'at', 'text', 'whole')
         ORDER BY attname`,
    );
    expect(Object.fromEntries(rows.map(({ name, type }) => [name, type]))).toEqual({
      at: 'timestamp with time zone',
      date: 'date',
      id: 'bigint',
      is_new: 'boolean',
      tags: 'json',
      text: 'text',
      whole: 'text',
    });
    const [row] = await ask(
      lake.url,
      `SELECT text, whole, tags ->> 1 AS tag FROM ${lake.schema}.items LIMIT 1`,
    );
    expect(row).toEqual({ text: values.text, whole: '170141183460469231731687303715884105727', tag: 'b' });
  });

  it('keeps what others add to its tables: columns, indexes, views and grants', async () => {
    const lake = await create(ITEMS, { stream: all });
    await syncWell(lake.flow);
    const table = `${lake.schema}.items`;
    await ask(
      lake.url,
      `CREATE INDEX mine ON ${table} (date)`,
      `ALTER TABLE ${table} ADD COLUMN checked boolean DEFAULT false`,
      `CREATE VIEW large AS SELECT id, amount FROM ${table} WHERE amount > 10`,
      `CREATE ROLE reader${databases}`,
      `GRANT SELECT ON ${table} TO reader${databases}`,
    );
    setRecords(
      lake.flow,
      ITEMS.map((item) => ({ ...item, added: `${item.name}!` })),
    );
    await syncWell(lake.flow);
    await expectEqual(lake);
    await expectVerified(lake.flow, 'Postgres');
    const [row] = await ask(
      lake.url,
      `SELECT (SELECT count(*)::int FROM pg_indexes WHERE indexname = 'mine') AS indexes, (SELECT count(*)::int FROM large) AS rows,
         has_table_privilege('reader${databases}', '${table}', 'SELECT') AS granted, (SELECT bool_and(NOT checked) FROM ${table}) AS checked`,
    );
    expect(row).toEqual({
      indexes: 1,
      rows: ITEMS.filter(({ amount }) => amount > 10).length,
      granted: true,
      checked: true,
    });
  });

  it('names the view that keeps a column from getting another type, and goes on without it', async () => {
    const lake = await create(ITEMS, { stream: all });
    await syncWell(lake.flow);
    await ask(lake.url, `CREATE VIEW large AS SELECT id, amount FROM ${lake.schema}.items`);
    setRecords(
      lake.flow,
      ITEMS.map((item) => ({ ...item, amount: `${item.amount} EUR` })),
    );
    const end = await fail(lake.flow);
    expect(end.exitCode).toBe(6);
    expect(wordsOf(end)).toMatch(/view large depends.*Drop that view, run again/);
    const [row] = await ask(lake.url, `SELECT count(amount)::int AS rows FROM large`);
    expect(row).toEqual({ rows: 50 });
    await ask(lake.url, 'DROP VIEW large');
    await syncWell(lake.flow);
    await expectEqual(lake);
  });

  it('shows a reader inside a transaction what it saw first, and waits for none', async () => {
    const lake = await create(ITEMS, { stream: all });
    await syncWell(lake.flow);
    const reader = await lake.open();
    const count = `SELECT count(*)::INTEGER AS value FROM lake.${lake.schema}.items`;
    await reader.run('BEGIN');
    expect(await reader.values(count)).toEqual([50]);
    setRecords(lake.flow, makeItems(70, { perDay: 10 }));
    await syncWell(lake.flow);
    expect(await reader.values(count)).toEqual([50]);
    await reader.run('COMMIT');
    expect(await reader.values(count)).toEqual([70]);
    reader.close();
  });

  it('lets one of two writers publish, and changes nothing for the other', async () => {
    const { flow, config, open, schema } = await create(ITEMS, { stream });
    await syncWell(flow);
    const other = createItemsFlow(ITEMS, { config, stream, clock: flow.clock });
    cpSync(flow.stateDir, other.stateDir, { recursive: true });
    setRecords(flow, makeItems(70, { perDay: 10 }));
    setRecords(other, makeItems(65, { perDay: 10 }));
    const ends = await Promise.all([flow, other].map((one) => fail(one)));
    const winner = [flow, other].filter((_, at) => ends[at]?.exitCode === 0);
    expect(winner.length).toBe(1);
    expect([2, 6]).toContain(ends.find((end) => end.exitCode !== 0)?.exitCode);
    for (const one of winner) await expectEqual({ flow: one, open, schema });
  });

  it('compares all rows when the server forgot what was written', async () => {
    const lake = await create(ITEMS, { stream });
    await syncWell(lake.flow);
    await ask(lake.url, `UPDATE ${lake.schema}.items SET amount = -1 WHERE id = 7`, 'SELECT pg_stat_reset()');
    await syncWell(lake.flow);
    await expectEqual(lake);
  });

  it('compares all rows each time where the server does not count what is written', async () => {
    const lake = await create(ITEMS, { stream });
    const name = new URL(lake.url).pathname.slice(1);
    await ask(lake.url, `ALTER DATABASE "${name}" SET track_counts = off`);
    await syncWell(lake.flow);
    await ask(lake.url, `UPDATE ${lake.schema}.items SET amount = -1 WHERE id = 7`);
    await syncWell(lake.flow);
    await expectEqual(lake);
  });

  it.each<[string, string, string]>([
    ['a trigger that changes rows', 'raise', 'the trigger raises'],
    ['a trigger that holds changes back', 'hold', 'the trigger holds'],
    ['a trigger that changes rows when all are written', 'late', 'the trigger later'],
    ['a rule that holds deletes back', 'rule', 'the rule keeps'],
  ])('commits nothing where the server changes what is written: %s', async (_, kind, told) => {
    const lake = await create(ITEMS, { stream: all });
    await syncWell(lake.flow);
    const items = `${lake.schema}.items`;
    const makeFunction = (body: string) =>
      `CREATE FUNCTION own() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN ${body} END'`;
    const made: Readonly<Record<string, readonly string[]>> = {
      raise: [
        makeFunction('new.amount := new.amount + 1; RETURN new;'),
        `CREATE TRIGGER raises BEFORE INSERT ON ${items} FOR EACH ROW EXECUTE FUNCTION own()`,
      ],
      hold: [
        makeFunction('RETURN NULL;'),
        `CREATE TRIGGER holds BEFORE INSERT OR DELETE ON ${items} FOR EACH ROW EXECUTE FUNCTION own()`,
      ],
      late: [
        makeFunction(`UPDATE ${items} SET amount = 0 WHERE id = new.id; RETURN NULL;`),
        `CREATE CONSTRAINT TRIGGER later AFTER INSERT ON ${items} INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION own()`,
      ],
      rule: [`CREATE RULE keeps AS ON DELETE TO ${items} DO INSTEAD NOTHING`],
    };
    await ask(lake.url, ...(made[kind] ?? []));
    const before = await ask(lake.url, `SELECT * FROM ${items} ORDER BY id`);
    setRecords(
      lake.flow,
      ITEMS.map((item) => (item.id % 7 === 0 ? { ...item, amount: item.amount + 100 } : item)),
    );
    for (let run = 0; run < 2; run += 1) {
      const end = await fail(lake.flow);
      expect([end.exitCode, wordsOf(end)]).toEqual([6, expect.stringContaining(`${told} there changes`)]);
      expect(wordsOf(end)).toContain(`${lake.schema}.items would have other rows`);
    }
    expect(await ask(lake.url, `SELECT * FROM ${items} ORDER BY id`)).toEqual(before);
    await ask(lake.url, kind === 'rule' ? `DROP RULE keeps ON ${items}` : 'DROP FUNCTION own() CASCADE');
    await syncWell(lake.flow);
    await expectEqual(lake);
    await expectVerified(lake.flow, 'Postgres');
  });

  it('refuses its own tables once nothing says that they are, with advice that makes them again', async () => {
    const lake = await create(ITEMS, { stream });
    await syncWell(lake.flow);
    const own = toLakeSchema(lake.schema, '_sluice');
    await ask(lake.url, `TRUNCATE ${own}.lake_tables`);
    const end = await fail(lake.flow);
    expect([end.exitCode, wordsOf(end)]).toEqual([
      2,
      expect.stringContaining(`has a table ${lake.schema}.items, and nothing there says that Sluice made it`),
    ]);
    const drop = `DROP SCHEMA "${own}" CASCADE`;
    expect(wordsOf(end)).toContain(`drop the tables of your streams in schema "${lake.schema}" and ${drop}`);
    await ask(lake.url, `DROP TABLE ${lake.schema}.items CASCADE`, drop);
    expect(await lake.flow.sync({ force: false })).toMatchObject({ exitCode: 0, requests: 0 });
    await expectEqual(lake);
    await expectVerified(lake.flow, 'Postgres');
  });

  it('publishes where a trigger leaves rows as they are', async () => {
    const lake = await create(ITEMS, { stream: all });
    await syncWell(lake.flow);
    await ask(
      lake.url,
      `CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END'`,
      `CREATE TRIGGER looks BEFORE INSERT ON ${lake.schema}.items FOR EACH ROW EXECUTE FUNCTION look()`,
    );
    setRecords(lake.flow, [...ITEMS, ...makeItems(5, { from: 100 })]);
    await syncWell(lake.flow);
    await expectEqual(lake);
    await expectVerified(lake.flow, 'Postgres');
  });

  it('repairs what the trigger of another table changed within its own transaction, once verify found it', async () => {
    const lake = await create(ITEMS, { stream });
    await syncWell(lake.flow);
    const runs = `${toLakeSchema(lake.schema, '_sluice')}.runs`;
    await ask(
      lake.url,
      `CREATE FUNCTION raise() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN UPDATE ${lake.schema}.items SET amount = amount + 1 WHERE id < 3; RETURN NULL; END'`,
      `CREATE TRIGGER raises AFTER INSERT ON ${runs} FOR EACH STATEMENT EXECUTE FUNCTION raise()`,
    );
    await syncWell(lake.flow);
    const look = () => verifyState(lake.flow.settings(), { clock: lake.flow.clock });
    expect((await look()).items).toContainEqual(
      expect.objectContaining({ name: 'Postgres', status: 'failed', fix: COMPARE_FIX }),
    );
    await ask(lake.url, `DROP TRIGGER raises ON ${runs}`);
    // The stream is fresh: no request is needed.
    expect(await lake.flow.sync()).toMatchObject({ exitCode: 0, requests: 0 });
    await expectEqual(lake);
    await expectVerified(lake.flow, 'Postgres');
    const { rowsInserted } = (await syncWell(lake.flow)).published?.postgres ?? {};
    expect(rowsInserted).toBeLessThan(20);
  });

  it('names the column of a text that Postgres cannot have', async () => {
    const lake = await create(ITEMS, { stream: all });
    await syncWell(lake.flow);
    setRecords(
      lake.flow,
      ITEMS.map((item) => ({ ...item, name: item.id === 9 ? 'a\u0000b' : item.name })),
    );
    const end = await fail(lake.flow);
    expect(end.exitCode).toBe(6);
    expect(wordsOf(end)).toMatch(/the character NUL.*exclude: true/);
    expect(wordsOf(end)).toContain('name of main.items');
    const excluded = {
      streams: {
        items: { path: 'items', paginated: true, ...all, columns: { name: { exclude: true as const } } },
      },
    };
    await syncWell(lake.flow, { config: excluded });
    await expectEqual(lake);
  });

  it('refuses a name that Postgres would cut', async () => {
    const lake = await create(
      ITEMS.map((item) => ({ ...item, ['é'.repeat(32)]: 1 })),
      { stream },
    );
    const end = await fail(lake.flow);
    expect(end.exitCode).toBe(2);
    expect(wordsOf(end)).toMatch(/no names of more than 63 bytes.*é{32}.*exclude: true/);
  });

  it('repairs what another program wrote right after a publish began', async () => {
    const lake = await create(ITEMS, { stream: all });
    await syncWell(lake.flow);
    const real = Reflect.get<Postgres, 'inspect'>(Postgres.prototype, 'inspect');
    let inspections = 0;
    const spy = vi.spyOn(Postgres.prototype, 'inspect').mockImplementation(async function (
      this: Postgres,
      ...given
    ) {
      inspections += 1;
      // The first one is of the claim, before the transaction.
      if (inspections === 2)
        await ask(
          lake.url,
          `UPDATE ${lake.schema}.items SET amount = -1 WHERE id = 3`,
          'SELECT pg_stat_force_next_flush()',
        );
      return real.apply(this, given);
    });
    setRecords(
      lake.flow,
      ITEMS.map((item) => (item.id === 7 ? { ...item, amount: 70 } : item)),
    );
    await syncWell(lake.flow).finally(() => spy.mockRestore());
    expect(inspections).toBe(2);
    await syncWell(lake.flow);
    await expectEqual(lake);
    await expectVerified(lake.flow, 'Postgres');
  });

  it('refuses a name that every table of Postgres has already', async () => {
    const lake = await create(
      ITEMS.map((item) => ({ ...item, xmin: 1 })),
      { stream },
    );
    const end = await fail(lake.flow);
    expect(end.exitCode).toBe(2);
    expect(wordsOf(end)).toMatch(/has a column xmin of its own.*exclude: true/);
    const columns = { xmin: { exclude: true as const } };
    const config = { streams: { items: { path: 'items', paginated: true, ...stream, columns } } };
    await syncWell(lake.flow, { config });
    await expectEqual(lake);
  });

  it('refuses tables of others, and works in schemas that somebody else made', async () => {
    const { flow, url, schema } = await create(ITEMS, { stream });
    const [role, password] = [`limited${databases}`, 'p@ss/wörd'];
    const limited = url.replace(/\/\/[^@]+@/, `//${role}:${encodeURIComponent(password)}@`);
    const config = { destination: { postgres: { url: limited, schema } }, engine };
    await ask(
      url,
      'REVOKE CREATE ON SCHEMA public FROM PUBLIC',
      `CREATE ROLE ${role} LOGIN PASSWORD '${password}'`,
    );
    const refused = await fail(flow, config);
    expect(refused.exitCode).toBe(6);
    expect(wordsOf(refused)).toMatch(/may not do this.*Grant it what docs/);
    expect(wordsOf(refused)).not.toContain('p%40ss');
    expect(wordsOf(refused)).not.toContain(password);
    await ask(
      url,
      `CREATE SCHEMA IF NOT EXISTS ${schema}`,
      `GRANT USAGE, CREATE ON SCHEMA ${schema} TO ${role}`,
      `CREATE SCHEMA _sluice_${schema} AUTHORIZATION ${role}`,
      `CREATE VIEW ${schema}."Items" AS SELECT 42 AS answer`,
    );
    const taken = await fail(flow, config);
    expect(taken.exitCode).toBe(2);
    expect(wordsOf(taken)).toContain(
      `has a table ${schema}.Items, and nothing there says that Sluice made it`,
    );
    await ask(url, `DROP VIEW ${schema}."Items"`);
    await syncWell(flow, { config });
  });

  it.each<[string, RegExp, (url: string) => string]>([
    ['password', /refuses this user/, (url) => url.replace(/:[^:@]+@/, ':wrong@')],
    ['database', /does not exist/, (url) => url.replace(/[^/]+$/, 'nowhere')],
    ['server', /cannot be reached/, (url) => url.replace(/@[^/]+/, '@127.0.0.1:1')],
    ['way to encrypt', /cannot be encrypted as asked/, (url) => `${url}?sslmode=verify-full`],
  ])('refuses a wrong %s before a request, without a secret in its words', async (_, words, change) => {
    const { flow, url, schema } = await create(ITEMS);
    const end = await fail(flow, { destination: { postgres: { url: change(url), schema } }, engine });
    expect(end.exitCode).toBe(6);
    expect(wordsOf(end)).toMatch(words);
    expect(wordsOf(end)).toContain('destination.postgres.url');
    expect(wordsOf(end)).toMatch(/nothing was requested/i);
    expect(flow.simulator.log).toEqual([]);
    const said = `${wordsOf(end)} ${end instanceof SyncError ? String(end.cause) : ''}`;
    for (const secret of [postgres.password, 'wrong@']) expect(said).not.toContain(secret);
  });

  it('is whole again after a connection that was cut at any message', async () => {
    const next = makeItems(70, { perDay: 10 }).map((item) => ({
      ...item,
      amount: item.amount + 1,
      extra: 'new',
    }));
    const port = new URL(postgres.url).port;
    const random = createRandom();
    let most = 400;
    for (let run = 0; run < countRuns(3); run += 1) {
      const when = run % 2 === 0 ? 'before' : 'after';
      const isFirst = run % 4 === 3;
      const { flow, url, open, schema } = await create(ITEMS, { stream: all });
      const config = {
        destination: {
          duckdb: './warehouse.duckdb',
          postgres: { url: url.replace(port, String(socket.port)), schema },
        },
        engine,
      };
      socket.cutAt(undefined);
      if (!isFirst) await syncWell(flow, { config });
      setRecords(flow, next);
      const at = Math.floor(random() * most);
      socket.cutAt(at, when);
      const end = await fail(flow, config);
      const isDone = socket.messages <= at;
      if (isDone) most = socket.messages;
      socket.cutAt(undefined);
      const where = `SLUICE_SEED=${seed}: cut ${when} message ${at}`;
      expect(isDone ? [0] : [0, 6], `${where}: ${wordsOf(end)}`).toContain(end.exitCode);
      await syncWell(flow, { config });
      await expectEqual({ flow, open, schema }).catch((cause: unknown) => {
        throw new Error(where, { cause });
      });
    }
  });

  function openServer(url: string, options = 'READ_ONLY'): Promise<LakeReader> {
    const given = ['TYPE postgres', ...(options === '' ? [] : [options])].join(', ');
    return openReader(['postgres_scanner'], [`ATTACH ${quoteLiteral(url)} AS lake (${given})`]);
  }
});
