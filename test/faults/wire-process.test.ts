import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { cliEntry } from '../support/cli-entry.ts';
import { startNode, waitForEnd } from '../support/run-node.ts';
import { makeFolder, noBuiltIns } from '../support/sync-harness.ts';
import { type CliProjectOptions, createCliProject } from './kit/cli-project.ts';
import { findForms } from './kit/find-secret.ts';
import { makeAuthority, makeServerCertificate } from './kit/make-certificate.ts';
import { readEnd } from './kit/scenario.ts';
import { servePages } from './kit/serve-pages.ts';
import { WIRE_ROWS } from './kit/wire-flow.ts';
import { startWireServer, type WireServerOptions } from './kit/wire-server.ts';

const KEY = 'sk_live_0123456789abcdef';
const NO_PROXIES = Object.fromEntries(
  ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'].map((name) => [
    name,
    '',
  ]),
);

type Streams = NonNullable<CliProjectOptions['config']>['streams'];

async function setUp({
  streams,
  ...options
}: Partial<WireServerOptions> & { readonly streams?: Streams } = {}) {
  const server = await startWireServer({ serve: servePages(WIRE_ROWS), ...options });
  onTestFinished(() => server.close());
  const { folder } = createCliProject({ baseUrl: server.baseUrl, ...(streams && { config: { streams } }) });
  const env = {
    ...NO_PROXIES,
    ANALYTICS_API_KEY: KEY,
    SLUICE_CONFIG: join(folder, 'sluice.yaml'),
    NO_COLOR: '1',
  };
  return { server, folder, env };
}

function canTrace(): boolean {
  const trace = spawnSync('strace', ['-f', '-qq', '-e', 'trace=connect', '-o', '/dev/null', 'true']);
  return trace.error === undefined && trace.status === 0;
}

describe('a process', () => {
  it.skipIf(!canTrace())(
    'connects to the configured host and sends datagrams to nobody (needs strace)',
    async () => {
      const { server, folder, env } = await setUp();
      const trace = join(folder, 'trace.txt');
      const calls = 'trace=connect,sendto,sendmsg,sendmmsg';
      const { exitCode, stderr } = await runTraced(
        ['-f', '-qq', '-yy', '-e', calls, '-o', trace, process.execPath, '--no-warnings', cliEntry, 'sync'],
        { ...process.env, ...env },
      );
      expect(stderr).toContain('complete');
      expect(exitCode).toBe(0);
      const lines = readFileSync(trace, 'utf8').split('\n');
      const connects = lines.filter((line) => /connect\(.*AF_INET/.test(line));
      expect(connects.length).toBeGreaterThan(0);
      const home = new RegExp(`htons\\(${server.port}\\), sin_addr=inet_addr\\("127\\.0\\.0\\.1"\\)`);
      expect(connects.filter((line) => !home.test(line))).toEqual([]);
      expect(lines.filter((line) => /send(to|msg|mmsg)\(.*(UDP|AF_INET)/.test(line))).toEqual([]);
    },
  );

  it('that logs all it can logs no key, and puts it into no file', async () => {
    const { folder, env } = await setUp();
    const child = startNode(cliEntry, ['sync', '--log-level', 'debug', '--log-format', 'json'], {
      cwd: folder,
      env: { ...env, NODE_DEBUG: 'http,http2,https,net,tls,undici,fetch,stream', DEBUG: '*' },
    });
    const { exitCode, stdout, stderr } = await waitForEnd(child);
    expect(exitCode).toBe(0);
    expect(stderr).toContain('NET');
    expect(findForms(stdout + stderr, KEY)).toEqual([]);
  });

  it.each(['uncaughtException', 'unhandledRejection'])(
    'that meets an error nobody caught (%s) ends with 1 and shows no secret',
    async (LATE) => {
      const { folder, env } = await setUp({ misbehave: () => ['hang'] });
      const NODE_OPTIONS = `--import=${join(import.meta.dirname, 'kit/throw-late.ts')}`;
      const child = startNode(cliEntry, ['sync'], {
        cwd: folder,
        env: { ...env, LATE, NODE_OPTIONS, OTHER_SECRET: 'hush-hush-hush' },
      });
      const { exitCode, stdout, stderr } = await waitForEnd(child);
      expect(exitCode).toBe(1);
      expect(stdout).toBe('');
      expect(stderr).toContain('error: unexpected: x is not a function of [redacted]');
      expect(stderr).toMatch(/report/i);
      expect(stderr).not.toContain('hush');
      expect(findForms(stderr, KEY)).toEqual([]);
    },
  );

  it('that reads a dataset which drips for ever ends at its deadline, with 75', async () => {
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{"data":[';
    const { folder, env } = await setUp({
      misbehave: () => [{ send: head }, { flood: ' ', everyMs: 20 }],
      streams: { ...noBuiltIns, items: { path: 'items', paginated: false } },
    });
    const child = startNode(cliEntry, ['sync', '--json', '--deadline', '1s'], { cwd: folder, env });
    expect(readEnd(await waitForEnd(child))).toMatchObject({ exitCode: 75, code: 'deadline_reached' });
    expect(existsSync(join(folder, 'warehouse.duckdb'))).toBe(false);
  });

  it('trusts the authority that NODE_EXTRA_CA_CERTS names, and no other', async () => {
    const authority = makeAuthority('an authority of a company');
    const tls = makeServerCertificate({ host: '127.0.0.1', authority });
    const { folder, env, server } = await setUp({ tls });
    const file = join(makeFolder(), 'authority.pem');
    writeFileSync(file, authority.cert);
    const [trusting, doubting] = await Promise.all(
      [file, ''].map((NODE_EXTRA_CA_CERTS) =>
        waitForEnd(
          startNode(cliEntry, ['check', '--json'], { cwd: folder, env: { ...env, NODE_EXTRA_CA_CERTS } }),
        ),
      ),
    );
    expect(doubting?.stdout).toMatch(/TLS with 127\.0\.0\.1:\d+ failed/);
    expect(doubting?.exitCode).toBe(75);
    expect(trusting?.exitCode).toBe(0);
    expect(server.arrivals).toHaveLength(1);
  });

  it('whose reader has seen enough ends as if it had read on', async () => {
    const { folder, env } = await setUp();
    const end = (args: readonly string[]) => {
      const child = startNode(cliEntry, args, { cwd: folder, env });
      child.stdout?.destroy();
      return waitForEnd(child);
    };
    expect(await end(['sync'])).toMatchObject({ exitCode: 0 });
    expect(existsSync(join(folder, 'warehouse.duckdb'))).toBe(true);
    expect(await end(['query', 'SELECT * FROM range(100000)', '--format', 'csv'])).toMatchObject({
      exitCode: 0,
    });
  });
});

function runTraced(args: readonly string[], env: NodeJS.ProcessEnv) {
  const child = spawn('strace', args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  return waitForEnd(child);
}
