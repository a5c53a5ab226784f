import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer as createHttpServer, request } from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ObjectStore as BucketReach } from '../../src/model/destination.ts';
import { StorageError } from '../../src/model/errors.ts';
import { openStore } from '../../src/fleet/store/open-store.ts';
import type { ObjectDatabase, ObjectQueries } from '../../src/fleet/store/postgres-store.ts';
import { startCuttingProxy } from '../support/cutting-proxy.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import {
  type ObjectStore as S3Server,
  type PostgresServer,
  startObjectStore,
  startPostgres,
} from '../support/lake-servers.ts';
import { createRawServer } from '../support/raw-server.ts';
import { makeTempFolder } from '../support/temp-folder.ts';
import { describeStateStore, describeShown, makeFile } from './object-store-conformance.ts';

const SECRET = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY';
const keys = { keyId: 'AKIAIOSFODNN7EXAMPLE', secret: SECRET };
const patience = { connectMs: 5_000, idleMs: 5_000 };

function openS3(store: BucketReach, { bucket = 'fleet', prefix = 'states', idleMs = patience.idleMs } = {}) {
  const reach = { store: { region: 'us-east-1', urlStyle: 'path', ...store } as const };
  return openStore({ kind: 's3', bucket, prefix }, { reach, patience: { ...patience, idleMs } });
}

describeWithServers('a bucket', () => {
  let server: S3Server;
  let buckets = 0;
  beforeAll(async () => {
    server = await startObjectStore();
  });
  afterAll(() => server.stop());
  const reachOf = (url: string): BucketReach => ({
    endpoint: new URL(url),
    keys: { keyId: server.keyId, secret: server.secret },
  });

  describeStateStore('a bucket', async () => {
    const bucket = `fleet-${(buckets += 1)}`;
    await server.createBucket(bucket);
    const proxy = await startCuttingProxy(`http://${server.endpoint}`);
    return {
      store: await openS3(reachOf(`http://${server.endpoint}`), { bucket }),
      cut: async (work) => {
        const store = await openS3(reachOf(proxy.url), { bucket });
        // After the upload was begun and a part of it was sent.
        proxy.cutAt(2);
        await work(store);
        expect(proxy.changes).toBeGreaterThan(2);
        await store.close();
      },
      close: () => proxy.stop(),
    };
  });

  it('does not see what lies beside its prefix', async () => {
    await server.createBucket('shared');
    const file = await makeFile(join(makeTempFolder(), 'in'), 1);
    const reach = reachOf(`http://${server.endpoint}`);
    const [a, b, whole] = await Promise.all(
      ['a', 'a2', ''].map((prefix) => openS3(reach, { bucket: 'shared', prefix })),
    );
    await a?.put('acme/1', file);
    await b?.put('acme/2', file);
    expect(await a?.list('')).toMatchObject([{ name: 'acme/1' }]);
    expect(await b?.list('')).toMatchObject([{ name: 'acme/2' }]);
    expect((await whole?.list(''))?.map(({ name }) => name).toSorted()).toEqual(['a/acme/1', 'a2/acme/2']);
  });

  it.each([
    ['an upload whose last answer was lost, and of which the server then knows nothing', true],
    ['an upload that the server lost', false],
  ])('looks for the object after %s', async (_, isDone) => {
    await server.createBucket(`lost-${isDone}`);
    // The server itself would answer the same again, as AWS does.
    let completed = 0;
    const body = '<Error><Code>NoSuchUpload</Code><Message>The upload does not exist</Message></Error>';
    const proxy = createHttpServer((incoming, outgoing) => {
      const { method = 'GET', headers, url = '/' } = incoming;
      const isLast = method === 'POST' && url.includes('uploadId=');
      completed += isLast ? 1 : 0;
      if (isLast && (completed > 1 || !isDone)) {
        incoming.resume();
        outgoing.writeHead(404, { 'content-type': 'application/xml' }).end(body);
        return;
      }
      const passed = request(`http://${server.endpoint}${url}`, { method, headers }, (answer) => {
        if (isLast) answer.resume().once('end', () => incoming.socket.destroy());
        else answer.pipe(outgoing.writeHead(answer.statusCode ?? 500, answer.headers));
      });
      incoming.pipe(passed);
    }).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const { port } = proxy.address() as AddressInfo;
    const store = await openS3(reachOf(`http://127.0.0.1:${port}`), { bucket: `lost-${isDone}` });
    const put = store.put('acme/1', await makeFile(join(makeTempFolder(), 'in'), 20 * 2 ** 20));
    if (isDone) await put;
    else await expect(put).rejects.toThrow('NoSuchUpload');
    expect(completed).toBe(isDone ? 2 : 1);
    expect(await store.list('')).toHaveLength(isDone ? 1 : 0);
    await store.close();
    proxy.closeAllConnections();
    proxy.close();
  });

  it('lists more objects than a page has', async () => {
    await server.createBucket('many');
    const store = await openS3(reachOf(`http://${server.endpoint}`), { bucket: 'many' });
    const file = await makeFile(join(makeTempFolder(), 'in'), 1);
    const names = Array.from({ length: 1_010 }, (_, n) => `acme/${n}`);
    for (let n = 0; n < names.length; n += 20)
      await Promise.all(names.slice(n, n + 20).map((name) => store.put(name, file)));
    expect((await store.list('acme/')).map(({ name }) => name).toSorted()).toEqual(names.toSorted());
    await store.remove(names);
    expect(await store.list('')).toEqual([]);
  });

  it.each([
    ['a wrong secret', () => ({ keys: { keyId: server.keyId, secret: SECRET } }), /refuses the key/, 6],
    ['a wrong key', () => ({ keys }), /refuses the key/, 6],
    ['a missing bucket', () => ({}), /bucket does not exist/, 2],
  ])('says what to do about %s', async (_, change, words, exitCode) => {
    const store = await openS3(
      { ...reachOf(`http://${server.endpoint}`), ...change() },
      { bucket: 'nobody' },
    );
    await expectFailures(store, words, exitCode);
  });
});

describeWithServers('a table of Postgres', () => {
  let server: PostgresServer;
  let databases = 0;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  const openPool = async () => {
    const url = await server.createDatabase(`fleet_${(databases += 1)}`);
    const pool = new Pool({ connectionString: url, max: 2 });
    await pool.query('CREATE SCHEMA sluice_fleet');
    await pool.query(
      'CREATE TABLE sluice_fleet.objects (name text, part int, bytes bytea, stored_at timestamptz DEFAULT clock_timestamp(), PRIMARY KEY (name, part))',
    );
    return pool;
  };
  const openTable = (pool: Pool, before?: (text: string) => void) =>
    openStore({ kind: 'postgres' }, { reach: { store: {} }, database: adapt(pool, before) });

  describeStateStore('a table of Postgres', async () => {
    const pool = await openPool();
    return {
      store: await openTable(pool),
      cut: async (work) => {
        let parts = 0;
        const store = await openTable(pool, (text) => {
          if (text.startsWith('INSERT') && (parts += 1) > 2) throw new Error('the connection is lost');
        });
        await work(store);
        expect(parts).toBe(3);
      },
      close: () => pool.end(),
    };
  });

  it('refuses what is too large, and names other stores', async () => {
    const pool = await openPool();
    const store = await openTable(pool);
    const file = await makeFile(join(makeTempFolder(), 'in'), 256 * 2 ** 20 + 1);
    const error = await store.put('acme/1', file).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ exitCode: 6, code: 'storage_failed' });
    expect((error as StorageError).hint).toContain('s3://bucket/prefix');
    expect(await store.list('')).toEqual([]);
    await pool.end();
  });
});

describe('a bucket that is not as it should be', () => {
  it('cannot be reached', async () => {
    const port = await findClosedPort();
    const store = await openS3({ endpoint: new URL(`http://127.0.0.1:${port}`), keys });
    await expectFailures(store, /cannot be reached/, 6);
  });

  it.each([
    ['fails', 500, 'InternalError', /object store fails/, 6],
    ['is away for a while', 503, 'ServiceUnavailable', /object store fails/, 6],
    ['is full', 507, 'XMinioStorageFull', /is full/, 6],
    ['has a key that expired', 403, 'ExpiredToken', /refuses the key/, 6],
    ['finds the clock wrong', 403, 'RequestTimeTooSkewed', /clock of this machine/, 6],
    ['is in another region', 301, 'PermanentRedirect', /another region/, 2],
    ['tells its secret', 400, `Strange${SECRET}`, /Strange/, 6],
  ])('%s', async (_, status, code, words, exitCode) => {
    const body = `<Error><Code>${code}</Code><Message>${code} with ${SECRET}</Message></Error>`;
    const server = await createRawServer(({ socket }) => {
      socket.end(
        `HTTP/1.1 ${status} No\r\ncontent-type: application/xml\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
      );
    });
    const store = await openS3({ endpoint: new URL(`http://127.0.0.1:${server.port}`), keys });
    await expectFailures(store, words, exitCode);
    await server.close();
  });

  it('hides the key that the environment has', async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', keys.keyId);
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', SECRET);
    const body = `<Error><Code>Strange</Code><Message>with ${SECRET}</Message></Error>`;
    const server = await createRawServer(({ socket }) => {
      socket.end(`HTTP/1.1 400 No\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`);
    });
    const store = await openS3({ endpoint: new URL(`http://127.0.0.1:${server.port}`) });
    await expectFailures(store, /Strange/, 6);
    expect(server.requests[0]?.head).toContain(`Credential=${keys.keyId}/`);
    await server.close();
    vi.unstubAllEnvs();
  });

  it('has no key anywhere', async () => {
    for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_PROFILE'])
      vi.stubEnv(name, undefined);
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/dev/null');
    vi.stubEnv('AWS_CONFIG_FILE', '/dev/null');
    const store = await openS3({ endpoint: new URL('http://127.0.0.1:9') });
    await expectFailures(store, /there is no key/, 6);
    vi.unstubAllEnvs();
  });

  it('follows no redirect to another host', async () => {
    const other = await createRawServer(({ socket }) =>
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'),
    );
    const server = await createRawServer(({ socket }) => {
      const location = `http://127.0.0.1:${other.port}/fleet/states/acme/1`;
      socket.end(
        `HTTP/1.1 307 Temporary Redirect\r\nlocation: ${location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`,
      );
    });
    const store = await openS3({ endpoint: new URL(`http://127.0.0.1:${server.port}`), keys });
    await expectFailures(store, /s3:/, 2);
    expect(other.requests).toEqual([]);
    await Promise.all([server.close(), other.close()]);
  });

  it('does not answer', async () => {
    const server = await createRawServer(() => {});
    const endpoint = new URL(`http://127.0.0.1:${server.port}`);
    const store = await openS3({ endpoint, keys }, { idleMs: 20 });
    await expectFailures(store, /cannot be reached/, 6);
    await server.close();
  });

  it.each([
    ['stalls', false],
    ['is cut off', true],
  ])('%s within an object', async (_, isCut) => {
    const server = await createRawServer(({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nabc');
      if (isCut) socket.end();
    });
    const endpoint = new URL(`http://127.0.0.1:${server.port}`);
    const folder = makeTempFolder();
    const store = await openS3({ endpoint, keys }, { idleMs: 20 });
    const error = await store.get('acme/1', join(folder, 'out')).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StorageError);
    expect((error as StorageError).message).toContain('cannot be reached');
    expect(server.requests.length).toBe(3);
    expect(readdirSync(folder)).toEqual([]);
    await server.close();
  });

  it('is asked with a signature of the bytes that are sent', async () => {
    const server = await createRawServer(({ socket }) => {
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n');
    });
    const store = await openS3({ endpoint: new URL(`http://127.0.0.1:${server.port}`), keys });
    await store.put('acme/1', await makeFile(join(makeTempFolder(), 'in'), 0));
    const { head = '' } = server.requests[0] ?? {};
    expect(head).toContain('PUT /fleet/states/acme/1');
    expect(head.toLowerCase()).toContain(
      'x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    );
    expect(head).not.toContain(SECRET);
    await server.close();
  });

  it('is not on this machine, and its address is not encrypted', async () => {
    const store = await openS3({ endpoint: new URL('http://storage.example.com'), keys });
    await expectFailures(store, /is not encrypted/, 2);
  });
});

/** All that a store can do fails alike, says what to do, and tells no secret. */
async function expectFailures(
  store: Awaited<ReturnType<typeof openStore>>,
  words: RegExp,
  exitCode: number,
): Promise<void> {
  const folder = makeTempFolder();
  const file = await makeFile(join(folder, 'in'), 1);
  const calls: readonly (() => Promise<unknown>)[] = [
    () => store.put('acme/1', file),
    () => store.get('acme/1', join(folder, 'out')),
    () => store.list('acme/'),
    () => store.remove(['acme/1']),
  ];
  for (const call of calls) {
    const error = await call().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ exitCode });
    const { message, hint } = error as StorageError;
    expect(message).toMatch(words);
    expect(hint).toMatch(/unchanged|Nothing was requested/);
    expect(describeShown(error)).not.toContain(SECRET);
  }
  expect(readdirSync(folder)).toEqual(['in']);
  await store.close();
}

async function findClosedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** A pool as the fleet's database is. */
function adapt(pool: Pool, before: (text: string) => void = () => {}): ObjectDatabase {
  const query =
    (on: Pick<Pool, 'query'>): ObjectQueries['query'] =>
    async (text, values = []) => {
      before(text);
      return (await on.query<Record<string, unknown>>(text, [...values])).rows;
    };
  return {
    place: 'postgres://127.0.0.1/fleet',
    query: query(pool),
    async transaction(work) {
      const client = await pool.connect();
      try {
        await client.query('BEGIN');
        const result = await work({ query: query(client) });
        await client.query('COMMIT');
        return result;
      } catch (error) {
        await client.query('ROLLBACK');
        throw error;
      } finally {
        client.release();
      }
    },
  };
}
