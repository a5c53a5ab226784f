import { execFile, spawnSync } from 'node:child_process';
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { chownSync, existsSync, globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { version } from '@duckdb/node-api';
import { quoteLiteral } from '../../src/warehouse/identifiers.ts';
import { isCatalogThere } from './find-nessie.ts';
import { findProofCache } from './proof-cache.ts';
import { asNobodyArgs, type ServerChild, startServer } from './server-child.ts';

/** A PostgreSQL server of its own, with passwords, that forgets everything when it stops. */
export interface PostgresServer {
  /** Of the database `postgres`: `postgresql://user:password@127.0.0.1:port/postgres`. */
  readonly url: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  /** Makes a database and returns its URL. */
  createDatabase(name: string): Promise<string>;
  /** Ends it at once, as a crash would. */
  crash(): Promise<void>;
  /** Starts it again after a crash, on the same port. */
  startAgain(): Promise<void>;
  stop(): Promise<void>;
}

/** An S3 server of its own, with paths as URLs and without TLS, that refuses other keys. */
export interface ObjectStore {
  /** `127.0.0.1:port` */
  readonly endpoint: string;
  readonly keyId: string;
  readonly secret: string;
  readonly region: string;
  /** Makes a bucket; its name has at least three characters. */
  createBucket(name: string): Promise<void>;
  stop(): Promise<void>;
}

const extensions = ['httpfs', 'ducklake', 'aws', 'postgres_scanner', 'sqlite_scanner', 'avro', 'iceberg'];
const region = 'us-east-1';
const run = promisify(execFile);

/** The engine's `extension_directory` with all extensions for its version; undefined where one is missing. */
export function findExtensions(): string | undefined {
  const folder = join(findProofCache(), 'extensions');
  return extensions.every((name) => existsSync(join(folder, placeOf(name)))) ? folder : undefined;
}

/** Where the file of an extension is in such a folder. */
export function placeOf(name: string): string {
  const platform = `${process.platform}_${process.arch === 'x64' ? 'amd64' : process.arch}`;
  return join(version(), platform, `${name}.duckdb_extension`);
}

/** Gives an engine the keys of a store, as SQL. */
export function describeSecret({ endpoint, keyId, secret, region }: ObjectStore): string {
  const keys = `KEY_ID ${quoteLiteral(keyId)}, SECRET ${quoteLiteral(secret)}`;
  const place = `REGION ${quoteLiteral(region)}, ENDPOINT ${quoteLiteral(endpoint)}`;
  return `CREATE SECRET store (TYPE s3, ${keys}, ${place}, URL_STYLE 'path', USE_SSL false)`;
}

/** Why the servers and extensions cannot be used on this machine, with the way to get them; else undefined. */
export function explainMissing(): string | undefined {
  const missing = [
    ...(findExtensions() === undefined ? [`the extensions of DuckDB ${version()}`] : []),
    ...(findPostgres() === undefined ? ['PostgreSQL'] : []),
    ...(existsSync(findMoto()) ? [] : ['moto']),
    ...(isCatalogThere() ? [] : ['Nessie']),
    ...(spawnSync('setpriv', ['--version']).status === 0 ? [] : ['setpriv']),
  ];
  return missing.length === 0
    ? undefined
    : `${missing.join(', ')} not found: on Debian, run tools/install-proof-tools.sh`;
}

/**
 * Starts PostgreSQL on a free port with a new folder, as nobody where we are root.
 *
 * @param keepsCommits what was committed is there after a crash
 */
export async function startPostgres({ keepsCommits = false } = {}): Promise<PostgresServer> {
  const bin = findPostgres();
  if (bin === undefined) throw new Error(explainMissing());
  const folder = mkdtempSync(join(tmpdir(), 'sluice-postgres-'));
  const user = 'sluice';
  const password = randomBytes(12).toString('hex');
  const data = join(folder, 'data');
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, password);
  if (process.getuid?.() === 0) for (const path of [folder, passwordFile]) chownSync(path, 65534, 65534);
  const auth = ['--auth=scram-sha-256', `--username=${user}`, `--pwfile=${passwordFile}`];
  const form = ['--no-locale', '--encoding=UTF8', '--no-sync'];
  try {
    const initdb = [...asNobodyArgs(), join(bin, 'initdb'), `--pgdata=${data}`];
    await run('setpriv', [...initdb, ...auth, ...form], { cwd: folder });
    const command = [join(bin, 'postgres'), '-D', data, ...describeServer(keepsCommits)];
    const started = await startOnFreePort(command);
    const { port } = started;
    let { child } = started;
    const server = `postgresql://${user}:${password}@127.0.0.1:${port}`;
    return {
      url: `${server}/postgres`,
      port,
      user,
      password,
      async createDatabase(name) {
        const args = ['--no-psqlrc', `--command=CREATE DATABASE "${name}"`, `${server}/postgres`];
        await run(join(bin, 'psql'), args);
        return `${server}/${name}`;
      },
      crash: () => child.stop(),
      async startAgain() {
        child = await startOnPort(command, port);
      },
      async stop() {
        await child.stop();
        rmSync(folder, { recursive: true });
      },
    };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** PostgreSQL cannot choose a port: another program may take the one we found free, so that we try again. */
async function startOnFreePort(
  command: readonly string[],
): Promise<{ readonly child: ServerChild; readonly port: number }> {
  for (let tries = 1; ; tries += 1) {
    const port = await findFreePort();
    try {
      return { child: await startOnPort(command, port), port };
    } catch (error) {
      if (tries === 5 || !String(error).includes('could not bind')) throw error;
    }
  }
}

function startOnPort(command: readonly string[], port: number): Promise<ServerChild> {
  // SIGQUIT ends it at once, and lets it give its shared memory back, as SIGKILL does not.
  const options = { ready: /ready to accept connections/, endSignal: 'SIGQUIT', asNobody: true } as const;
  return startServer([...command, '-c', `port=${port}`], options);
}

function describeServer(keepsCommits: boolean): readonly string[] {
  const quick = ['fsync=off', `synchronous_commit=${keepsCommits ? 'on' : 'off'}`, 'full_page_writes=off'];
  const small = ['shared_buffers=16MB', 'listen_addresses=127.0.0.1', 'unix_socket_directories='];
  return [...quick, ...small].flatMap((setting) => ['-c', setting]);
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('a server without a port');
  return address.port;
}

/** Starts the S3 server on a free port, with one key that may do everything. */
export async function startObjectStore(): Promise<ObjectStore> {
  const child = await startServer([findMoto(), '-H', '127.0.0.1', '-p', '0'], {
    ready: /Running on http:\/\/(127\.0\.0\.1:\d+)/,
    endSignal: 'SIGKILL',
  });
  const endpoint = child.found[1] ?? '';
  try {
    const { keyId, secret } = await makeOnlyKey(endpoint);
    return {
      endpoint,
      keyId,
      secret,
      region,
      async createBucket(name) {
        const headers = signPut({ endpoint, keyId, secret }, `/${name}`);
        await send(`http://${endpoint}/${name}`, { method: 'PUT', headers });
      },
      stop: () => child.stop(),
    };
  } catch (error) {
    await child.stop();
    throw error;
  }
}

/** Makes a user with a key who may do everything on S3, and has the server check keys from here on. */
async function makeOnlyKey(endpoint: string): Promise<{ readonly keyId: string; readonly secret: string }> {
  const policy = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: 's3:*', Resource: '*' }] };
  const UserName = 'sluice';
  // The server finds the service in the scope; it does not look at the rest yet.
  const scope = `nobody/20260101/${region}/iam/aws4_request`;
  const headers = { authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=0` };
  const ask = (fields: Readonly<Record<string, string>>): Promise<string> =>
    send(`http://${endpoint}/`, {
      method: 'POST',
      headers,
      body: new URLSearchParams({ Version: '2010-05-08', UserName, ...fields }),
    });
  await ask({ Action: 'CreateUser' });
  await ask({ Action: 'PutUserPolicy', PolicyName: 'all', PolicyDocument: JSON.stringify(policy) });
  const answer = await ask({ Action: 'CreateAccessKey' });
  const [, keyId] = /<AccessKeyId>([^<]+)</.exec(answer) ?? [];
  const [, secret] = /<SecretAccessKey>([^<]+)</.exec(answer) ?? [];
  if (keyId === undefined || secret === undefined) throw new Error(`moto made no key: ${answer}`);
  // So many requests are let through unchecked: none.
  await send(`http://${endpoint}/moto-api/reset-auth`, { method: 'POST', body: '0' });
  return { keyId, secret };
}

async function send(url: string, request: RequestInit): Promise<string> {
  const response = await fetch(url, request);
  const text = await response.text();
  if (!response.ok) throw new Error(`${request.method ?? ''} ${url}: HTTP ${response.status} ${text}`);
  return text;
}

/** The headers of a PUT without a body, signed as S3 asks (Signature Version 4). */
function signPut(
  { endpoint, keyId, secret }: Pick<ObjectStore, 'endpoint' | 'keyId' | 'secret'>,
  path: string,
): Readonly<Record<string, string>> {
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const bodyHash = hash('');
  const names = 'host;x-amz-content-sha256;x-amz-date';
  const signed = `host:${endpoint}\nx-amz-content-sha256:${bodyHash}\nx-amz-date:${time}\n`;
  const canonical = ['PUT', path, '', signed, names, bodyHash].join('\n');
  const parts = [time.slice(0, 8), region, 's3', 'aws4_request'];
  const scope = parts.join('/');
  const key = parts.reduce<string | Buffer>((from, part) => hmac(from, part), `AWS4${secret}`);
  const signature = hmac(key, `AWS4-HMAC-SHA256\n${time}\n${scope}\n${hash(canonical)}`).toString('hex');
  return {
    'x-amz-content-sha256': bodyHash,
    'x-amz-date': time,
    authorization: `AWS4-HMAC-SHA256 Credential=${keyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
  };
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/** The folder with PostgreSQL's programs, where Debian or a build of one's own puts them. */
export function findPostgres(): string | undefined {
  const folders = [...globSync('/usr/lib/postgresql/*/bin'), '/usr/local/bin'];
  return folders.find((folder) =>
    ['initdb', 'postgres', 'psql'].every((program) => existsSync(join(folder, program))),
  );
}

function findMoto(): string {
  return join(findProofCache(), 'moto', 'bin', 'moto_server');
}
