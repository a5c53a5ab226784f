import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { readOutcome } from '../crash/read-outcome.ts';
import { type ChildOptions, type ChildProject, createChildProject } from '../support/cli-child.ts';
import { createItemsFlow, makeFolder, makeItems } from '../support/sync-harness.ts';

const ITEMS = makeItems(120).map((item, at) => ({
  ...item,
  // Letters whose case other languages see otherwise, times, and numbers some of them write with a comma.
  Id: at,
  TITLE: 'Iıİi ß Σς',
  seenAt: new Date(Date.UTC(2026, 2, 29, 0, at)).toISOString(),
  ratio: at / 8,
}));

const projects: ChildProject[] = [];
afterEach(async () => {
  await Promise.all(projects.splice(0).map(({ server }) => server.close()));
});

async function createProject(folder?: string): Promise<ChildProject> {
  const project = await createChildProject({ records: ITEMS, ...(folder !== undefined && { folder }) });
  projects.push(project);
  return project;
}

interface Told {
  readonly exitCode: number;
  readonly error: { readonly code: string; readonly message: string; readonly hint: string } | null;
}

async function syncAs(project: ChildProject, options: ChildOptions): Promise<Told> {
  const { stdout, stderr } = await project.run(['sync', '--force', '--json', '--no-progress'], options);
  expect(stdout, stderr).toMatch(/^\{/);
  return JSON.parse(stdout) as Told;
}

const underShell = (script: string) => ['sh', '-c', `${script}; exec "$@"`, 'sh'];

describe('state files', () => {
  it.each(['000', '077'])('belong to their owner alone under umask %s', async (umask) => {
    const project = await createProject();
    expect(await syncAs(project, { within: underShell(`umask ${umask}`) })).toMatchObject({ exitCode: 0 });
    for (const folder of [project.stateDir, join(project.folder, 'quota')]) {
      expect(statSync(folder).mode & 0o777).toBe(0o700);
      for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
        const mode = statSync(join(entry.parentPath, entry.name)).mode & 0o777;
        expect([entry.name, mode]).toEqual([entry.name, entry.isDirectory() ? 0o700 : 0o600]);
      }
    }
    // The published file is for those whom the user lets in.
    expect(statSync(project.duckdb).mode & 0o777).toBe(0o666 & ~Number.parseInt(umask, 8));
  });
});

// Root may write anywhere: permissions are tried as nobody, who must be let into the test's own folder.
const asNobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
const isRoot = process.getuid?.() === 0;
const canBeNobody =
  !isRoot || spawnSync(asNobody[0] ?? '', [...asNobody.slice(1), process.execPath, '-e', '0']).status === 0;
const within = isRoot ? asNobody : [];

describe.skipIf(!canBeNobody)('a user who may not write', () => {
  let open: string;
  beforeAll(() => {
    open = mkdtempSync(join(tmpdir(), 'sluice-open-'));
    chmodSync(open, 0o777);
  });
  afterAll(() => {
    rmSync(open, { recursive: true });
  });

  let count = 0;
  async function createOpenProject(): Promise<ChildProject> {
    const folder = join(open, `project-${(count += 1)}`);
    mkdirSync(folder);
    chmodSync(folder, 0o777);
    return createProject(folder);
  }

  it('into the folder of the state ends with 6 before any request', async () => {
    const project = await createOpenProject();
    chmodSync(project.folder, 0o555);
    const { exitCode, error } = await syncAs(project, { within });
    chmodSync(project.folder, 0o777);
    expect([exitCode, error?.code]).toEqual([6, 'storage_failed']);
    expect(error?.message).toContain(project.stateDir);
    expect(error?.hint).toMatch(/stateDir to a writable folder/);
    expect(project.simulator.log).toEqual([]);
  });

  it('into the folder of the published file ends with 6 before any request', async () => {
    const project = await createOpenProject();
    const state = join(open, `state-${count}`);
    mkdirSync(state, { mode: 0o777 });
    chmodSync(state, 0o777);
    symlinkSync(state, project.stateDir);
    chmodSync(project.folder, 0o555);
    const { exitCode, error } = await syncAs(project, { within });
    chmodSync(project.folder, 0o777);
    expect([exitCode, error?.code], error?.message).toEqual([6, 'publish_failed']);
    expect(error?.message).toContain(project.folder);
    expect(project.simulator.log).toEqual([]);
  });

  it('into the folder of the quota is warned, and syncs by the headers alone', async () => {
    const project = await createOpenProject();
    mkdirSync(join(project.folder, 'quota'), { mode: 0o555 });
    const end = await project.run(['sync', '--no-progress'], { within });
    expect(end.exitCode).toBe(0);
    expect(end.stdout).toMatch(/warning: the quota ledger .* cannot be used/);
  });

  // A file of their own is made writable again.
  it.skipIf(!isRoot)('into the file of the lock is told which one it is', async () => {
    const project = await createOpenProject();
    expect(await syncAs(project, { within })).toMatchObject({ exitCode: 0 });
    const lock = join(project.stateDir, 'lock.sqlite');
    chownSync(lock, 0, 0);
    const { exitCode, error } = await syncAs(project, { within });
    expect([exitCode, error?.code]).toEqual([6, 'storage_failed']);
    expect(error?.hint).toContain(`may not write ${lock}`);
    rmSync(lock);
    expect(await syncAs(project, { within })).toMatchObject({ exitCode: 0 });
  });

  it('nor read an archive is told so by verify, and not to read everything again', async () => {
    const project = await createOpenProject();
    expect(await syncAs(project, { within })).toMatchObject({ exitCode: 0 });
    const archive = join(project.stateDir, 'archive');
    const [header = ''] = readdirSync(archive, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.json'),
    );
    for (const place of [join(archive, header), join(archive, header, '..')]) {
      const { mode } = statSync(place);
      chmodSync(place, 0o000);
      const { stdout, exitCode } = await project.run(['verify'], { within });
      chmodSync(place, mode);
      expect(exitCode, stdout).toBe(6);
      expect(stdout).toMatch(/FAILED {2}archive of items +.*EACCES.*\n +fix: Let this user read it/);
    }
    expect(await project.run(['verify'], { within })).toMatchObject({ exitCode: 0 });
  });

  it('has no home and no folder for temporary files: a sync and a query need neither', async () => {
    const project = await createOpenProject();
    const env = { HOME: undefined, TMPDIR: '/nonexistent', XDG_STATE_HOME: undefined };
    expect(await syncAs(project, { within, env })).toMatchObject({ exitCode: 0 });
    const query = ['query', 'SELECT count(*) AS n FROM (FROM items ORDER BY name)', '--format', 'csv'];
    expect(await project.run(query, { within, env })).toMatchObject({ exitCode: 0, stdout: 'n\r\n120\r\n' });
  });

  it('nor read the published file is told so by a query: exit 6', async () => {
    const project = await createOpenProject();
    expect(await syncAs(project, { within })).toMatchObject({ exitCode: 0 });
    chmodSync(project.duckdb, 0o000);
    const { stdout } = await project.run(['query', 'SELECT 1', '--json'], { within });
    const { exitCode, error } = JSON.parse(stdout) as Told;
    expect([exitCode, error?.code]).toEqual([6, 'storage_failed']);
    expect(error?.message).toContain('Permission denied');
  });
});

describe('a process that may open few files', () => {
  it.each([24, 32])('(%i) syncs or ends with 6, and never calls it a defect', async (limit) => {
    const project = await createProject();
    const end = await project.run(['sync', '--no-progress'], { within: underShell(`ulimit -n ${limit}`) });
    expect([0, 6], end.stderr).toContain(end.exitCode);
    expect(await syncAs(project, {})).toMatchObject({ exitCode: 0 });
  });
});

describe('the machine’s language and time zone', () => {
  it('change nothing in the warehouse', async () => {
    const outcomes = await Promise.all(
      [
        { TZ: 'UTC', LC_ALL: 'C' },
        { TZ: 'Pacific/Kiritimati', LC_ALL: 'tr_TR.UTF-8', LANG: 'tr_TR.UTF-8' },
      ].map(async (env) => {
        const project = await createProject();
        expect(await syncAs(project, { env })).toMatchObject({ exitCode: 0 });
        const { tables, contract } = await readOutcome(project.duckdb);
        return { tables, contract };
      }),
    );
    expect(outcomes[1]).toEqual(outcomes[0]);
  });
});

describe('places', () => {
  it('with a question mark, which the engine takes for options, are refused with 2', async () => {
    const folder = join(makeFolder(), 'what?');
    mkdirSync(folder);
    await expect(createItemsFlow(ITEMS, { folder }).sync()).rejects.toMatchObject({
      exitCode: 2,
      code: 'config_invalid',
      message: expect.stringContaining('question mark') as string,
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('may be links, may climb, and may have any name', async () => {
    const real = join(makeFolder(), 'it\'s "here"; $HOME `x`\\ 日本 %41 # [a] {b,c} *');
    mkdirSync(join(real, 'state of things'), { recursive: true });
    mkdirSync(join(real, 'out'));
    const linked = join(makeFolder(), 'linked');
    symlinkSync(real, linked);
    const flow = createItemsFlow(ITEMS, { folder: join(linked, 'out', '..') });
    renameSync(join(real, 'state of things'), join(real, 'state'));
    for (let times = 0; times < 2; times += 1) {
      const report = await flow.sync({ force: true });
      expect(report.error).toBeUndefined();
      expect(report.warnings).toEqual([]);
    }
    expect(existsSync(join(real, 'warehouse.duckdb'))).toBe(true);
    expect(readdirSync(join(real, 'state'))).toContain('work.duckdb');
    expect(realpathSync(flow.duckdbPath).startsWith(realpathSync(real) + sep)).toBe(true);
  });
});
