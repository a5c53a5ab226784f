import { once } from 'node:events';
import { chmodSync, globSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { describeWithServers } from './describe-with-servers.ts';
import {
  findExtensions,
  type ObjectStore,
  type PostgresServer,
  startObjectStore,
  startPostgres,
} from './lake-servers.ts';
import { startNode } from './run-node.ts';
import { makeTempFolder } from './temp-folder.ts';

describeWithServers('servers of a lake', () => {
  let postgres: PostgresServer;
  let store: ObjectStore;
  let lake: string;

  beforeAll(async () => {
    [postgres, store] = await Promise.all([startPostgres(), startObjectStore()]);
    await store.createBucket('lake');
    lake = `ducklake:postgres:${await postgres.createDatabase('catalog')}`;
  });

  afterAll(async () => {
    await Promise.all([postgres.stop(), store.stop()]);
  });

  it('keep a DuckLake that one engine writes and another one reads', async () => {
    const writer = await openEngine(store);
    await writer.run(`ATTACH '${lake}' AS lake (DATA_PATH 's3://lake/data/')`);
    await writer.run('CREATE TABLE lake.numbers AS SELECT range AS number FROM range(100000)');
    const reader = await openEngine(store);
    await reader.run(`ATTACH '${lake}' AS lake (READ_ONLY)`);
    const ask = 'SELECT count(*)::INTEGER, sum(number)::DOUBLE FROM lake.numbers';
    expect(await readRows(reader, ask)).toEqual([[100_000, 4_999_950_000]]);
    await writer.run('DELETE FROM lake.numbers WHERE number >= 10');
    expect(await readRows(reader, ask)).toEqual([[10, 45]]);
    const files = "SELECT count(*)::INTEGER FROM glob('s3://lake/data/**/*.parquet')";
    expect((await readRows(reader, files))[0]?.[0]).toBeGreaterThan(0);
    // The server takes the engine's deletes as well.
    await writer.run('DROP TABLE lake.numbers');
    await writer.run("CALL ducklake_expire_snapshots('lake', older_than => now())");
    await writer.run("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)");
    expect(await readRows(writer, files)).toEqual([[0]]);
    writer.closeSync();
    reader.closeSync();
  });

  it.each([
    ['secret', () => ({ ...store, secret: `${store.secret}x` })],
    ['key', () => ({ ...store, keyId: 'AKIA0000000000000000' })],
  ])('refuse a wrong S3 %s, for reading and for writing', async (_, makeWrong) => {
    const copy = "COPY (SELECT 1 AS one) TO 's3://lake/refused.parquet' (FORMAT parquet)";
    const read = "FROM read_parquet('s3://lake/allowed.parquet')";
    const right = await openEngine(store);
    await right.run(copy.replace('refused', 'allowed'));
    expect(await readRows(right, read)).toEqual([[1]]);
    const wrong = await openEngine(makeWrong());
    await expect(wrong.run(copy)).rejects.toThrow('403');
    await expect(wrong.run(read)).rejects.toThrow('403');
    expect(await readRows(right, "FROM glob('s3://lake/refused*')")).toEqual([]);
    right.closeSync();
    wrong.closeSync();
  });

  it('refuse a wrong password of PostgreSQL', async () => {
    const engine = await openEngine(store);
    const wrong = lake.replace(postgres.password, 'wrong');
    await expect(engine.run(`ATTACH '${wrong}' AS lake (DATA_PATH 's3://lake/data/')`)).rejects.toThrow(
      'password authentication failed',
    );
    engine.closeSync();
  });

  it('end with the process that started them, even when it is killed', async () => {
    const folder = makeTempFolder();
    // PostgreSQL's user, nobody, goes through it.
    chmodSync(folder, 0o711);
    const child = startNode(join(import.meta.dirname, 'lake-servers-child.ts'), [], {
      env: { TMPDIR: folder },
    });
    const [line] = (await once(child.stdout!, 'data')) as [Buffer];
    expect(globSync('*/data/postmaster.pid', { cwd: folder })).toHaveLength(1);
    const ports = JSON.parse(String(line)) as readonly number[];
    expect(await Promise.all(ports.map(answers))).toEqual([true, true]);
    child.kill('SIGKILL');
    await vi.waitFor(
      async () => {
        expect(await Promise.all(ports.map(answers))).toEqual([false, false]);
        // PostgreSQL removes it last.
        expect(globSync('*/data/postmaster.pid', { cwd: folder })).toEqual([]);
      },
      { timeout: 60_000, interval: 20 },
    );
  });
});

async function openEngine({ endpoint, keyId, secret, region }: ObjectStore): Promise<DuckDBConnection> {
  const instance = await DuckDBInstance.create(':memory:', {
    extension_directory: findExtensions() ?? '',
    autoinstall_known_extensions: 'false',
  });
  const connection = await instance.connect();
  for (const name of ['httpfs', 'ducklake', 'postgres_scanner']) await connection.run(`LOAD ${name}`);
  await connection.run(
    `CREATE SECRET store (TYPE s3, KEY_ID '${keyId}', SECRET '${secret}', REGION '${region}',
      ENDPOINT '${endpoint}', URL_STYLE 'path', USE_SSL false)`,
  );
  return connection;
}

async function readRows(connection: DuckDBConnection, sql: string): Promise<readonly (readonly unknown[])[]> {
  return (await connection.runAndReadAll(sql)).getRows();
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
