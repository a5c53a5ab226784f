import { execFileSync } from 'node:child_process';
import {
  existsSync,
  fstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { MetricsServerOptions } from '../../../src/metrics/metrics-server.ts';
import { AbortedError, ConfigError } from '../../../src/model/errors.ts';
import type { RenderedReport } from '../../../src/model/report-data.ts';
import { renderReport } from '../../../src/report/render-report.ts';
import { makeBusyData } from '../../report/make-report-data.ts';
import { run } from '../support/capture.ts';
import { makePathRequest } from '../support/path-request.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-report-'));
afterAll(() => {
  rmSync(root, { recursive: true });
});

const report: RenderedReport = renderReport(makeBusyData());
const engine = { makeReport: () => Promise.resolve(report) };
let cwd = root;
beforeEach(() => {
  cwd = mkdtempSync(join(root, 'case-'));
});

describe('report', () => {
  it('writes one file, says where, and what is amiss', async () => {
    const { exitCode, stdout, calls } = await run(['report'], { engine, cwd });
    expect(exitCode).toBe(0);
    expect(readFileSync(join(cwd, 'report.html'), 'utf8')).toBe(report.html);
    expect(readdirSync(cwd)).toEqual(['report.html']);
    const lines = stdout.split('\n');
    expect(lines[0]).toMatch(/^Wrote report\.html \(\d+(\.\d)? kB\)$/);
    expect(lines[1]).toBe('1 of 8 streams and slices needs attention.');
    expect(lines[2]).toMatch(/^- commerce_top_products failed at offset 1980: the server/);
    expect(calls.find(({ name }) => name === 'makeReport')?.arguments[1]).toEqual({ showValues: true });
  });

  it('gives the same to programs, with the whole path', async () => {
    const { stdout } = await run(['report', '--json', '--output', 'x.html', '--no-values'], { engine, cwd });
    const { result, ok } = JSON.parse(stdout) as {
      readonly ok: boolean;
      readonly result: Record<string, unknown>;
    };
    expect(ok).toBe(true);
    expect(result).toMatchObject({
      path: join(cwd, 'x.html'),
      bytes: Buffer.byteLength(report.html),
      tone: 'bad',
      headline: '1 of 8 streams and slices needs attention',
      quarantined: 34,
    });
    expect(result['streams']).toContainEqual({
      stream: 'prompts_analytics',
      slice: '',
      state: 'verified',
      rows: 12_400,
      verifiedAt: '2026-11-20T14:07:00.000Z',
    });
  });

  it('asks for no values with --no-values', async () => {
    const { calls } = await run(['report', '--no-values'], { engine, cwd });
    expect(calls.find(({ name }) => name === 'makeReport')?.arguments[1]).toEqual({ showValues: false });
  });

  it('replaces an earlier report, and nothing else', async () => {
    await run(['report'], { engine, cwd });
    expect((await run(['report'], { engine, cwd })).exitCode).toBe(0);

    const config = join(cwd, 'sluice.yaml');
    writeFileSync(config, 'source: mine\n');
    const { exitCode, stderr, calls } = await run(['report', '--output', 'sluice.yaml'], { engine, cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(
      'sluice.yaml exists and is not a page that `sluice report` wrote; it was not touched',
    );
    expect(stderr).toContain('Name another file with --output');
    expect(readFileSync(config, 'utf8')).toBe('source: mine\n');
    expect(calls.map(({ name }) => name)).not.toContain('makeReport');
  });

  it.each([
    ['-', '--output must name a file'],
    ['.', '. is a folder'],
    ['new/', 'new/ is a folder'],
    ['none/report.html', 'the folder of none/report.html does not exist'],
  ])('refuses --output %s', async (output, message) => {
    const { exitCode, stderr } = await run(['report', '--output', output], { engine, cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(message);
    expect(existsSync(join(cwd, 'none'))).toBe(false);
    expect(existsSync(join(cwd, '-'))).toBe(false);
  });

  it('refuses a folder that is a file', async () => {
    writeFileSync(join(cwd, 'file'), '');
    const { exitCode, stderr } = await run(['report', '--output', 'file/x.html'], { engine, cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('the folder of file/x.html is a file');
  });

  it.skipIf(process.platform === 'win32')(
    'leaves a pipe a pipe, and ends where nobody reads it',
    async () => {
      execFileSync('mkfifo', [join(cwd, 'pipe')]);
      const { exitCode, stderr } = await run(['report', '--output', 'pipe'], { engine, cwd });
      expect(exitCode).toBe(2);
      expect(stderr).toContain('no program reads from pipe; nothing was written');
      expect(statSync(join(cwd, 'pipe')).isFIFO()).toBe(true);
    },
  );

  it.skipIf(process.platform === 'win32')(
    'refuses the file or pipe that its own messages go to',
    async () => {
      for (const descriptor of [1, 2].filter((one) => !fstatSync(one).isCharacterDevice())) {
        const { exitCode, stderr } = await run(['report', '--output', `/dev/fd/${descriptor}`], {
          engine,
          cwd,
        });
        expect(exitCode).toBe(2);
        expect(stderr).toContain('is where this command prints what it did');
      }
    },
  );
});

describe('report --serve', () => {
  async function serve(argv: readonly string[], env: NodeJS.ProcessEnv = {}) {
    const servers: MetricsServerOptions[] = [];
    let closed = 0;
    const controller = new AbortController();
    const ended = await run(['report', '--serve', ...argv], {
      cwd,
      env,
      signal: controller.signal,
      engine: {
        ...engine,
        startMetricsServer(options) {
          servers.push(options);
          controller.abort(new AbortedError('stop', { code: 'aborted', hint: '', exitCode: 143 }));
          return Promise.resolve({
            origin: 'http://127.0.0.1:9465',
            close: () => Promise.resolve(void (closed += 1)),
          });
        },
      },
    });
    return { ...ended, servers, closed: () => closed };
  }

  it('serves the report on this machine until it is stopped, and writes no file', async () => {
    const { exitCode, stdout, servers, closed, calls } = await serve(['--no-values']);
    expect(exitCode).toBe(143);
    expect(stdout).toContain('The report is at http://127.0.0.1:9465/, current at each load.');
    expect(servers).toMatchObject([{ host: '127.0.0.1', port: 9465 }]);
    expect(closed()).toBe(1);
    expect(readdirSync(cwd)).toEqual([]);
    expect(calls.map(({ name }) => name)).not.toContain('makeReport');
    const first = servers[0]?.paths['/'];
    const page = await first?.(makePathRequest('/', { headers: { host: 'localhost:9465' } }));
    expect(page).toMatchObject({ status: 200, body: report.html });
    expect(calls.find(({ name }) => name === 'makeReport')?.arguments.slice(1)).toEqual([
      { showValues: false },
      { isLive: true },
    ]);
  });

  it('ends with a config that cannot be read, and serves nothing', async () => {
    const missing = new ConfigError('config file nofile.yaml does not exist', {
      code: 'config_invalid',
      hint: 'Name another one.',
    });
    const ended = await run(['report', '--serve'], {
      engine: { loadOfflineSettings: () => Promise.reject(missing) },
      cwd,
    });
    expect(ended).toMatchObject({ exitCode: 2, stdout: '' });
    expect(ended.stderr).toContain('nofile.yaml does not exist');
  });

  it('is open to other machines with a token only, which it does not print', async () => {
    const refused = await serve(['--serve-host', '0.0.0.0']);
    expect(refused).toMatchObject({ exitCode: 2, servers: [] });
    expect(refused.stderr).toMatch(/SLUICE_PAGE_TOKEN is not set[^]*openssl rand -hex 16/);
    const token = 'a-token-of-the-tests';
    const open = await serve(['--serve-host', '0.0.0.0'], { SLUICE_PAGE_TOKEN: token });
    expect(open.exitCode).toBe(143);
    expect(open.stdout).toContain('Open it with ?token= and the value of SLUICE_PAGE_TOKEN');
    expect(open.stdout + open.stderr).not.toContain(token);
    expect(await open.servers[0]?.paths['/']?.(makePathRequest('/'))).toMatchObject({ status: 401 });
  });

  it.each([
    [['--serve', '--output', 'x.html'], '--serve and --output cannot be combined'],
    [['--serve-port', '8080'], '--serve-port needs --serve'],
    [['--serve-host', 'localhost'], '--serve-host needs --serve'],
  ])('refuses %j', async (argv, message) => {
    const { exitCode, stderr } = await run(['report', ...argv], { engine, cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(message);
  });
});
