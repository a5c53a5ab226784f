import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defaultEngine } from '../../../src/cli/default-engine.ts';
import type { Engine } from '../../../src/cli/frame/engine.ts';
import { run } from '../support/capture.ts';

let cwd: string;
beforeEach(async () => (cwd = await mkdtemp(join(tmpdir(), 'sluice-init-'))));
afterEach(() => rm(cwd, { recursive: true }));

describe('init', () => {
  it('asks on a terminal', async () => {
    const asked: string[] = [];
    const prompt = (question: string, fallback: string) => {
      asked.push(question);
      return Promise.resolve(question.startsWith('Base') ? 'https://api.test/v1' : fallback);
    };
    const { exitCode, stdout } = await run(['init'], { cwd, prompt });
    expect(exitCode).toBe(0);
    expect(asked).toEqual(['Base URL of the API', 'DuckDB file to publish']);
    expect(await readFile(join(cwd, 'sluice.yaml'), 'utf8')).toContain('https://api.test/v1');
    expect(stdout).toContain('export ANALYTICS_API_KEY=');
    expect(stdout).toContain('sluice check');
    expect(stdout).not.toContain('set source.baseUrl');
  });

  it('asks again where the answer is not an address', async () => {
    const answers = ['api.test', 'http://api.test/v1', 'https://api.test/v1'];
    const prompt = (question: string, fallback: string) =>
      Promise.resolve(question.startsWith('Base') ? (answers.shift() ?? '') : fallback);
    const { exitCode, stderr } = await run(['init'], { cwd, prompt });
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(
      /must be a complete URL that starts with https:[^]*would send the key unencrypted/,
    );
    expect(await readFile(join(cwd, 'sluice.yaml'), 'utf8')).toContain('https://api.test/v1');
  });

  it.each([
    ['init', '--yes'],
    ['init', '--json'],
  ])('%s %s never asks', async (...argv) => {
    const prompt = () => Promise.reject(new Error('asked'));
    await expect(run(argv, { cwd, prompt })).resolves.toMatchObject({ exitCode: 0 });
  });

  it('asks nothing without a terminal, and says what to fill in', async () => {
    const { exitCode, stdout } = await run(['init'], { cwd });
    expect(exitCode).toBe(0);
    expect(stdout).toContain("set source.baseUrl in ./sluice.yaml to your API's address");
  });

  it('takes its answers from options and names another config in the next steps', async () => {
    const argv = [
      'init',
      '--yes',
      '--base-url',
      'https://a.test/v1',
      '--duckdb',
      './w.duckdb',
      '-c',
      'other.yaml',
    ];
    const { stdout } = await run(argv, { cwd });
    expect(await readFile(join(cwd, 'other.yaml'), 'utf8')).toContain('./w.duckdb');
    expect(stdout).toContain('sluice sync -c other.yaml');
  });

  it('gives a second config of a folder a state folder and a destination of its own', async () => {
    const engine: Partial<Engine> = {
      buildConfigTemplate: (answers) => defaultEngine.buildConfigTemplate(answers),
    };
    await run(['init', '--yes'], { cwd, engine });
    const { stdout } = await run(['init', '--yes', '-c', 'other.yaml'], { cwd, engine });
    expect(stdout).toContain('a state folder and a destination of its own');
    const text = await readFile(join(cwd, 'other.yaml'), 'utf8');
    expect(text).toMatch(/^ {2}duckdb: \.\/other\/warehouse\.duckdb$/m);
    expect(text).toMatch(/^stateDir: \.\/other\/\.sluice /m);
    const third = await run(['init', '--json', '-c', 'third.yml', '--duckdb', './mine.duckdb'], {
      cwd,
      engine,
    });
    expect(third.stdout).toContain('"stateDir":"./third/.sluice"');
    expect(third.stdout).toContain('"duckdb":"./mine.duckdb"');
    expect(await readFile(join(cwd, 'sluice.yaml'), 'utf8')).toContain('# stateDir: ./.sluice');
  });

  it('names the schema that editors check the file by, from the folder of the file', async () => {
    const engine: Partial<Engine> = {
      buildConfigTemplate: (answers) => defaultEngine.buildConfigTemplate(answers),
    };
    await mkdir(join(cwd, 'node_modules/sluice'), { recursive: true });
    await writeFile(join(cwd, 'node_modules/sluice/sluice.schema.json'), '{}');
    await mkdir(join(cwd, 'jobs'));
    for (const [file, way] of [
      ['sluice.yaml', '.'],
      ['jobs/sluice.yaml', '..'],
    ] as const) {
      await run(['init', '--yes', '-c', file], { cwd, engine });
      expect((await readFile(join(cwd, file), 'utf8')).split('\n')[0]).toBe(
        `# yaml-language-server: $schema=${way}/node_modules/sluice/sluice.schema.json`,
      );
    }
  });

  it('never overwrites', async () => {
    await writeFile(join(cwd, 'sluice.yaml'), 'mine');
    const { exitCode, stderr } = await run(['init', '--yes'], { cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('already exists');
    expect(await readFile(join(cwd, 'sluice.yaml'), 'utf8')).toBe('mine');
  });

  it('refuses an invalid base URL before it writes anything', async () => {
    const { exitCode, stderr } = await run(['init', '--yes', '--base-url', 'api.test'], { cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('https://');
    await expect(readFile(join(cwd, 'sluice.yaml'))).rejects.toThrow();
  });

  it('writes the config of a connector', async () => {
    const { exitCode, stdout } = await run(
      ['init', '--json', '--connector', 'analytics-read', '-c', 'named.yaml'],
      { cwd, engine: { buildConfigTemplate: (answers) => defaultEngine.buildConfigTemplate(answers) } },
    );
    expect(exitCode).toBe(0);
    expect(stdout).toContain('"connector":"analytics-read"');
    expect(await readFile(join(cwd, 'named.yaml'), 'utf8')).toContain('connector: analytics-read');
  });

  it.each([
    ['analytics_read', 'did you mean analytics-read?'],
    ['shop', 'there is no connector "shop"'],
    ['__proto__', 'Connectors: analytics-read.'],
  ])('refuses the unknown connector %s before it writes anything', async (name, words) => {
    const { exitCode, stderr } = await run(['init', '--yes', '--connector', name], { cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(words);
    await expect(readFile(join(cwd, 'sluice.yaml'))).rejects.toThrow();
  });

  it('names a folder in place of a file', async () => {
    const { exitCode, stderr } = await run(['init', '--yes', '-c', '.'], { cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('. is a folder; nothing was written');
    expect(stderr).toContain('sluice init -c sluice.yaml');
  });

  it('names a folder that is not there', async () => {
    const { exitCode, stderr } = await run(['init', '--yes', '-c', 'nowhere/sluice.yaml'], { cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('the folder of nowhere/sluice.yaml does not exist');
  });
});

describe('init --accounts', () => {
  const engine: Partial<Engine> = {
    buildConfigTemplate: (answers) => defaultEngine.buildConfigTemplate(answers),
  };

  it('writes a config of accounts, each with paths of its own, and names their key files', async () => {
    const { exitCode, stdout } = await run(['init', '--yes', '--accounts', 'acme, globex'], { cwd, engine });
    expect(exitCode).toBe(0);
    expect(stdout).toContain('create the key file of each account');
    expect(stdout).toContain('mode 0600, readable to you alone: keys/acme, keys/globex\n');
    expect(stdout).not.toContain('ANALYTICS_API_KEY');
    const text = await readFile(join(cwd, 'sluice.yaml'), 'utf8');
    expect(parse(text)).toEqual({
      source: {
        connector: 'analytics-read',
        baseUrl: 'https://analytics.example.com/api/v1',
        apiKey: '${file:./keys/${account}}',
      },
      accounts: { acme: {}, globex: {} },
      destination: { parquet: './lake/account=${account}', duckdb: './accounts/${account}.duckdb' },
      stateDir: './.sluice/${account}',
      concurrency: 4,
    });
  });

  it('names key files from where the user is, and not more of them than can be read', async () => {
    await mkdir(join(cwd, 'jobs'));
    const argv = ['init', '--yes', '--accounts', 'a,b,c,d,e,f,g', '-c', 'jobs/fleet.yaml'];
    const { stdout } = await run(argv, { cwd, engine });
    expect(stdout).toContain(`${join('jobs', 'keys', 'e')} and 2 more\n`);
    const { stdout: json } = await run(['init', '--json', '--accounts', 'acme', '-c', 'jobs/one.yaml'], {
      cwd,
      engine,
    });
    expect(JSON.parse(json)).toMatchObject({
      result: {
        accounts: [{ name: 'acme', keyFile: join(cwd, 'jobs/keys/acme') }],
        duckdb: './one/accounts/${account}.duckdb',
        stateDir: './one/.sluice/${account}',
      },
    });
  });

  it('gives a second config of a folder places of its own', async () => {
    await run(['init', '--yes', '--accounts', 'acme'], { cwd, engine });
    const argv = ['init', '--yes', '--accounts', 'acme', '-c', 'other.yaml'];
    expect((await run(argv, { cwd, engine })).stdout).toContain(
      'a state folder and a destination of its own',
    );
    expect(parse(await readFile(join(cwd, 'other.yaml'), 'utf8'))).toMatchObject({
      destination: {
        parquet: './other/lake/account=${account}',
        duckdb: './other/accounts/${account}.duckdb',
      },
      stateDir: './other/.sluice/${account}',
    });
  });

  it('does not ask for accounts, and asks again for a file that all would share', async () => {
    const asked: string[] = [];
    const files = ['./all.duckdb', './db/${account}.duckdb'];
    const prompt = (question: string, fallback: string) => {
      asked.push(question);
      return Promise.resolve(question.startsWith('Base') ? fallback : (files.shift() ?? ''));
    };
    const { stderr } = await run(['init', '--accounts', 'acme'], { cwd, engine, prompt });
    expect(asked).toEqual(['Base URL of the API', 'DuckDB file to publish', 'DuckDB file to publish']);
    expect(stderr).toContain('needs ${account} in its path');
    expect(await readFile(join(cwd, 'sluice.yaml'), 'utf8')).toContain('  duckdb: ./db/${account}.duckdb ');
  });

  it.each([
    [['--accounts', 'Acme'], '"Acme" is not an account name: write'],
    [['--accounts', 'acme,acme'], 'Write each name once: --accounts acme'],
    [['--accounts', 'acme', '--duckdb', './all.duckdb'], "--duckdb './accounts/${account}.duckdb'"],
  ])('refuses %j before it writes anything', async (argv, words) => {
    const { exitCode, stderr } = await run(['init', '--yes', ...argv], { cwd, engine });
    expect(exitCode).toBe(2);
    expect(stderr).toContain(words);
    await expect(readFile(join(cwd, 'sluice.yaml'))).rejects.toThrow();
  });
});
