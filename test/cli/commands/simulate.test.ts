import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listAccounts } from '../../../src/config/accounts.ts';
import { readConfigFile } from '../../../src/config/config-file.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { AbortedError } from '../../../src/model/errors.ts';
import { defaultEngine } from '../../../src/cli/default-engine.ts';
import type { ConfigAnswers, SimulatorRequest } from '../../../src/cli/frame/engine.ts';
import { startSimulator } from '../../../src/cli/start-simulator.ts';
import { scenarioGroups, scenarios } from '../../../src/simulator/scenarios.ts';
import { run } from '../support/capture.ts';

function createEngine(requests: SimulatorRequest[], controller: AbortController, closed: string[]) {
  return {
    startSimulator: (request: SimulatorRequest) => {
      requests.push(request);
      // The signal comes once the command waits.
      setImmediate(() => {
        controller.abort(new AbortedError('stopped', { code: 'aborted', hint: '', exitCode: 143 }));
      });
      return Promise.resolve({
        baseUrl: 'http://127.0.0.1:4010/api/v1',
        origin: 'http://127.0.0.1:4010',
        key: request.key ?? 'none',
        scenario: scenarios.find(({ name }) => name === request.scenario),
        advanceDay: () => undefined,
        close: () => {
          closed.push('closed');
          return Promise.resolve();
        },
      });
    },
  };
}

async function simulate(argv: readonly string[], template?: (answers: ConfigAnswers) => Promise<string>) {
  const requests: SimulatorRequest[] = [];
  const closed: string[] = [];
  const controller = new AbortController();
  const engine = {
    ...createEngine(requests, controller, closed),
    ...(template !== undefined && { buildConfigTemplate: template }),
  };
  const captured = await run(['simulate', ...argv], { engine, signal: controller.signal });
  return { ...captured, request: requests[0], closed };
}

describe('simulate', () => {
  it('serves until a signal, closes, and has the code of the signal', async () => {
    const { exitCode, closed, request, stdout } = await simulate([]);
    expect({ exitCode, closed }).toEqual({ exitCode: 143, closed: ['closed'] });
    expect(request).toMatchObject({ port: 4010, host: '127.0.0.1', day: '2026-11-13' });
    expect(request?.key).toBe('sim-0123456789abcdef');
    expect(stdout).toContain('baseUrl: http://127.0.0.1:4010/api/v1');
    expect(stdout).toContain('  export ANALYTICS_API_KEY=sim-0123456789abcdef\n  npx sluice sync');
    expect(stdout).not.toContain('# url');
    // Within its hour of freshness a plain sync would find nothing to do.
    expect(stdout).toContain('/advance-day\n  npx sluice sync --force -c simulated.yaml\n');
  });

  it('keeps its key out of the config, and shows how to set it', async () => {
    const template = () => Promise.resolve('source:\n  apiKey: ${ANALYTICS_API_KEY}   # key\n');
    const odd = (await simulate(['--key', 'a}$b'], template)).stdout;
    expect(odd).toContain('  apiKey: ${ANALYTICS_API_KEY}\n');
    expect(odd).toContain("  export ANALYTICS_API_KEY='a}$b'\n");
  });

  it('has an example for --key that no masked secret hides', async () => {
    const { stderr } = await run(['simulate', '--key', 'ab cd']);
    expect(stderr).toContain('For example: --key my-simulator-key');
  });

  it('takes every option', async () => {
    const argv =
      '--port 0 --host ::1 --key k-123 --requests-per-hour 20 --burst 2 --day 2026-01-31 --seed 0 --scenario emptied';
    const { request } = await simulate(argv.split(' '));
    expect(request).toEqual({
      port: 0,
      host: '::1',
      key: 'k-123',
      requestsPerHour: 20,
      burstPerSecond: 2,
      day: '2026-01-31',
      seed: 0,
      scenario: 'emptied',
    });
  });

  it('says what a scenario does, what to run next to it, and what to see', async () => {
    const { stdout } = await simulate(['--scenario', 'emptied']);
    expect(stdout).toMatch(/^emptied: From the second day on there are no rows at all\.\n/);
    expect(stdout).toContain(
      '  npx sluice sync -c simulated.yaml --streams prompts_analytics\n  curl -X POST',
    );
    expect(stdout).toContain('  npx sluice sync --force -c simulated.yaml --streams prompts_analytics\n');
    expect(stdout).toContain('To see: Exit code 4: the table is kept');
    const { stdout: json } = await simulate(['--scenario', 'emptied', '--json']);
    expect(JSON.parse(json)).toMatchObject({
      result: { scenario: { name: 'emptied', steps: ['sync', 'advance-day', 'sync --force'] } },
    });
  });

  it('lists the scenarios, without serving', async () => {
    const engine = { listScenarios: () => Promise.resolve(scenarioGroups) };
    const text = await run(['simulate', '--list-scenarios'], { engine });
    expect(text.exitCode).toBe(0);
    for (const { name, sentence } of scenarios)
      expect(text.stdout).toContain(`  ${name}\n      ${sentence}\n`);
    const { stdout } = await run(['simulate', '--list-scenarios', '--json'], { engine });
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, result: expect.any(Array) as unknown });
    expect((JSON.parse(stdout) as { result: unknown[] }).result).toHaveLength(scenarios.length);
  });

  it('refuses a scenario it does not know, and names the nearest', async () => {
    const request = { port: 0, day: '2026-01-31', scenario: 'lying_totl' };
    await expect(startSimulator(request)).rejects.toMatchObject({
      code: 'usage_invalid',
      exitCode: 2,
      message: 'the simulator has no scenario "lying_totl"',
      hint: expect.stringMatching(/Did you mean lying-total\?.*--list-scenarios/) as unknown,
    });
  });

  it('serves the scenario it was asked for', async () => {
    const simulator = await startSimulator({
      port: 0,
      day: '2026-01-31',
      scenario: 'missing-entity',
      key: 'k',
    });
    const ask = (query: string) =>
      fetch(`${simulator.baseUrl}/visibility/mentions${query}`, { headers: { 'x-api-key': 'k' } });
    expect([(await ask('')).status, (await ask('?entity=acme')).status]).toEqual([400, 200]);
    await simulator.close();
  });

  it('reports its address in one object with --json, as soon as it serves', async () => {
    const { stdout } = await simulate(['--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: true,
      result: { baseUrl: 'http://127.0.0.1:4010/api/v1', key: 'sim-0123456789abcdef', requestsPerHour: 600 },
    });
  });

  it.each([
    ['--port', '70000'],
    ['--burst', '0'],
    ['--day', '2027-01-01'],
    ['--key', 'a b'],
    ['--scenario', '../etc'],
    ['--accounts', 'Acme'],
  ])('refuses %s %s', async (...argv) => {
    await expect(run(['simulate', ...argv])).resolves.toMatchObject({ exitCode: 2, calls: [] });
  });
});

describe('the address of a simulator', () => {
  it.each(['0.0.0.0', '::', '0:0::0'])('is one that a config may have, with --host %s', async (host) => {
    const simulator = await startSimulator({ host, port: 0, day: '2026-01-31' });
    expect(simulator.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api/);
    expect((await fetch(`${simulator.origin}/_simulator/state`)).status).toBe(200);
    await simulator.close();
  });

  it.each(['300.1.1.1', '192.0.2.1'])('is wrong where no address of the machine is %s', async (host) => {
    const starting = startSimulator({ host, port: 0, day: '2026-01-31' });
    await expect(starting).rejects.toMatchObject({ hint: expect.stringContaining('--host') as string });
  });
});

describe('simulate --accounts', () => {
  const template = (answers: ConfigAnswers) => defaultEngine.buildConfigTemplate(answers);

  it('serves accounts with a new key each, some of them revoked', async () => {
    const { request } = await simulate(['--accounts', 'acme, globex', '--revoked', 'globex'], template);
    expect(request).not.toHaveProperty('key');
    expect(request).toMatchObject({
      accounts: [
        { name: 'acme', key: 'sim-acme-0123456789abcdef', revoked: false },
        { name: 'globex', key: 'sim-globex-0123456789abcdef', revoked: true },
      ],
    });
  });

  it('shows a config without the keys, and a file to write for each', async () => {
    const argv = ['--accounts', 'acme,globex,initech', '--revoked', 'globex'];
    const { stdout, exitCode } = await simulate(argv, template);
    expect(exitCode).toBe(143);
    expect(stdout).toContain('to 3 accounts: data up to 2026-11-13, 600 requests an hour');
    expect(stdout).toContain('Revoked, answered 401: globex.\n');
    expect(stdout).toContain(
      [
        '  apiKey: ${file:./keys/${account}}',
        'accounts:',
        '  acme: {}',
        '  globex: {}',
        '  initech: {}',
        'destination:',
        '  parquet: ./lake/account=${account}',
        '  duckdb: ./accounts/${account}.duckdb',
        'stateDir: ./.sluice/${account}',
        'concurrency: 4',
      ]
        .map((line) => `  ${line}\n`)
        .join(''),
    );
    expect(stdout).toContain(
      "  (umask 077; printf '%s\\n' sim-globex-0123456789abcdef > keys/globex)\n  (umask 077;",
    );
    expect(stdout).not.toContain('ANALYTICS_API_KEY');
    expect(stdout).toContain('  npx sluice sync -c simulated.yaml\n');
  });

  it.skipIf(process.platform === 'win32')(
    'shows what to write so that each account has its key',
    async () => {
      const { stdout, request } = await simulate(['--accounts', 'acme,globex'], template);
      const lines = stdout.split('\n').filter((line) => line.startsWith('  '));
      const cwd = mkdtempSync(join(tmpdir(), 'sluice-simulate-'));
      const isShell = (line: string) => /^ {2}(mkdir|\(umask)/.test(line);
      execFileSync('sh', ['-c', lines.filter(isShell).join('\n')], { cwd });
      expect(statSync(join(cwd, 'keys/globex')).mode & 0o777).toBe(0o600);
      const path = join(cwd, 'simulated.yaml');
      writeFileSync(path, lines.slice(0, lines.findIndex(isShell)).join('\n'));
      const { accounts = [] } = listAccounts(readConfigFile(path), {}) ?? {};
      const keys = accounts.map((account) => ({
        name: account.name,
        key: loadConfig({ path, env: {}, account }).config.source.apiKey,
      }));
      expect(keys).toEqual(request?.accounts?.map(({ name, key }) => ({ name, key })));
      rmSync(cwd, { recursive: true });
    },
  );

  it('gives the keys and the config with --json', async () => {
    const { stdout } = await simulate(['--json', '--accounts', 'acme,globex', '--revoked', 'acme'], template);
    const { result } = JSON.parse(stdout) as { result: Record<string, unknown> };
    expect(result['accounts']).toEqual([
      { name: 'acme', key: 'sim-acme-0123456789abcdef', revoked: true },
      { name: 'globex', key: 'sim-globex-0123456789abcdef', revoked: false },
    ]);
    expect(result['config']).toContain('\naccounts: ');
    expect(result).not.toHaveProperty('key');
  });

  it('answers each key with its own rows, and a revoked one with 401', async () => {
    const accounts = [
      { name: 'acme', key: 'a' },
      { name: 'globex', key: 'g', revoked: true },
    ];
    const simulator = await startSimulator({ port: 0, day: '2026-01-31', accounts });
    const ask = (key: string) =>
      fetch(`${simulator.baseUrl}/prompts/analytics?limit=1`, { headers: { 'x-api-key': key } });
    expect(await (await ask('a')).json()).toMatchObject({ data: [{ workspace: 'acme' }] });
    expect((await ask('g')).status).toBe(401);
    await simulator.close();
  });

  it.each([
    ['--accounts Acme', '"Acme" is not an account name: write'],
    ['--accounts acme,../x', '"../x" is not an account name: write'],
    ['--accounts acme,', '"" is not an account name: write'],
    ['--accounts acme,globex,acme', 'Write each name once: --accounts acme,globex'],
    ['--accounts acme --revoked globex', 'Name it in both: --accounts acme,globex --revoked globex'],
    ['--accounts acme --revoked Globex', '"Globex" is not an account name: write'],
    ['--revoked acme', 'For example: --accounts acme,globex --revoked globex'],
    ['--accounts acme --key k', 'Leave out --key: each account gets a key of its own.'],
    ['--accounts acme --scenario emptied', 'Leave out --accounts: a scenario counts'],
  ])('refuses %s, and says what to write', async (argv, words) => {
    const { exitCode, stderr, calls } = await run(['simulate', ...argv.split(' ')]);
    expect({ exitCode, calls }).toEqual({ exitCode: 2, calls: [] });
    expect(stderr).toContain(words);
  });
});
