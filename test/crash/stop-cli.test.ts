import { type ChildProcess, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { sync } from '../../src/index.ts';
import { hang, rateLimited } from '../../src/simulator/fault-effects.ts';
import { beforeRequest, when } from '../../src/simulator/faults.ts';
import { type ChildProject, createChildProject } from '../support/cli-child.ts';
import { inOneDay } from '../support/in-one-day.ts';
import { expectRows, queryCopy, sortRows } from '../support/published.ts';
import { type ProcessEnd, waitForEnd } from '../support/run-node.ts';
import { makeFolder, makeItems } from '../support/sync-harness.ts';
import { readStagedOffsets } from './read-outcome.ts';

const ITEMS = makeItems(300);
const GRACE_MS = 5_000;
const slow = join(import.meta.dirname, 'slow-statement.ts');
const ENDLESS = 'SELECT count(*) FROM range(100000000000) a(i), range(1000000) b(j) WHERE (i * j) % 7 = 3';

const projects: ChildProject[] = [];
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await Promise.all(projects.splice(0).map(({ server }) => server.close()));
});

async function createProject(): Promise<ChildProject> {
  const project = await createChildProject({ records: ITEMS });
  projects.push(project);
  return project;
}

/** A process whose end and output are watched from its start on. */
interface Watched {
  readonly child: ChildProcess;
  readonly end: Promise<ProcessEnd>;
  /** Resolves when its stderr has said something. */
  says(text: string): Promise<void>;
}

function watch(child: ChildProcess): Watched {
  children.push(child);
  const end = waitForEnd(child);
  let told = '';
  const waiting = new Set<() => void>();
  child.stderr?.on('data', (chunk) => {
    told += String(chunk);
    for (const look of waiting) look();
  });
  return {
    child,
    end,
    says: (text) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (!told.includes(text)) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
        void end.then(() => reject(new Error(`it ended without saying ${text}: ${told}`)));
      }),
  };
}

/** Waits for the end as an init system does: what is still there after the grace is killed. */
async function endWithinGrace({ child, end }: Watched): Promise<ProcessEnd> {
  const timer = setTimeout(() => child.kill('SIGKILL'), GRACE_MS);
  const told = await end;
  clearTimeout(timer);
  return told;
}

/** What waits, for a test to be stopped in. */
const moments: Readonly<Record<string, (project: ChildProject) => Promise<Watched>>> = {
  'while a request hangs': async (project) => {
    const asked = new Promise<void>((resolve) => {
      project.simulator.setFaults([
        when({ nth: 3, count: Infinity }, hang()),
        beforeRequest(3, () => resolve()),
      ]);
    });
    const watched = watch(project.start(['sync']));
    await asked;
    return watched;
  },
  'while it waits as a 429 asked': async (project) => {
    project.simulator.setFaults([when({ nth: 3, count: Infinity }, rateLimited({ retryAfter: '3600' }))]);
    const watched = watch(project.start(['sync', '--log-format', 'json']));
    await watched.says('waiting for');
    return watched;
  },
  'while a statement runs': async (project) => {
    const watched = watch(
      project.start(['sync'], { preload: slow, env: { SLOW_AT: 'sql INSERT INTO main.items' } }),
    );
    await watched.says('the slow statement begins');
    return watched;
  },
};

/** Goes on with a ledger of its own: the one of the stopped run remembers what the server asked for. */
async function goOn(project: ChildProject) {
  project.simulator.setFaults([]);
  const { source } = project.config;
  const ledgerDir = join(makeFolder(), 'quota');
  return sync({ ...project.config, source: { ...source, quota: { ...source.quota, ledgerDir } } });
}

describe.each(Object.entries(moments))('a sync that is told to stop %s', (_, arrive) => {
  it.each([
    ['SIGTERM', 143, 1],
    ['SIGINT', 130, 1],
    ['SIGTERM', 143, 2],
  ] as const)(
    'by %s ends with %i within 5 s, and keeps the pages it paid for (sent at once: %i)',
    inOneDay(async (signal, exitCode, times) => {
      const project = await createProject();
      const watched = await arrive(project);
      for (let left = times; left > 0; left -= 1) watched.child.kill(signal);
      expect(await endWithinGrace(watched)).toMatchObject({ exitCode, signal: null });
      expect(existsSync(project.duckdb)).toBe(false);
      const staged = readStagedOffsets(project.stateDir, 'items');
      expect(staged.length).toBeGreaterThan(0);
      const before = project.simulator.log.length;
      expect(await goOn(project)).toMatchObject({ exitCode: 0 });
      const asked = project.simulator.log
        .slice(before)
        .map(({ query }) => Number(new URLSearchParams(query).get('offset')));
      expect(asked.filter((offset) => offset > 0 && staged.includes(offset))).toEqual([]);
      const { rows } = await queryCopy(project.duckdb, 'SELECT * FROM main.items');
      expect(sortRows(rows)).toEqual(expectRows(ITEMS));
    }),
  );
});

describe('a second signal', () => {
  it('ends a sync at once, even in a statement that nothing interrupts', async () => {
    const project = await createProject();
    const env = { SLOW_AT: 'sql INSERT INTO main.items', SLOW_FOR_EVER: '1' };
    const watched = watch(project.start(['sync'], { preload: slow, env }));
    await watched.says('the slow statement begins');
    watched.child.kill('SIGTERM');
    await watched.says('stopping');
    // One that comes right after the first is taken for the same.
    const again = setInterval(() => watched.child.kill('SIGTERM'), 100);
    const end = await endWithinGrace(watched).finally(() => clearInterval(again));
    expect(end).toMatchObject({ exitCode: null, signal: 'SIGTERM' });
    expect(await goOn(project)).toMatchObject({ exitCode: 0 });
    const { rows } = await queryCopy(project.duckdb, 'SELECT * FROM main.items');
    expect(sortRows(rows)).toEqual(expectRows(ITEMS));
  });
});

const canBeInit = spawnSync('unshare', ['--pid', '--fork', 'true']).status === 0;

// The kernel keeps from PID 1 every signal it has no handler for. Skipped where namespaces need other rights.
describe.skipIf(!canBeInit)('as PID 1, as in a container', () => {
  function startAsInit(project: ChildProject, args: readonly string[], env: NodeJS.ProcessEnv = {}): Watched {
    return watch(
      project.start(args, { within: ['unshare', '--pid', '--fork', '--kill-child'], preload: slow, env }),
    );
  }

  /** Signals the process that `unshare` started, from outside its namespace. */
  function signalInit({ child }: Watched, signal: NodeJS.Signals): void {
    const pid = child.pid ?? 0;
    const [init = ''] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    process.kill(Number(init), signal);
  }

  it('a sync with a statement running ends with 143 within 5 s', async () => {
    const project = await createProject();
    const watched = startAsInit(project, ['sync'], { SLOW_AT: 'sql INSERT INTO main.items' });
    await watched.says('the slow statement begins');
    signalInit(watched, 'SIGTERM');
    expect(await endWithinGrace(watched)).toMatchObject({ exitCode: 143 });
    expect(await goOn(project)).toMatchObject({ exitCode: 0 });
  });

  it('a query ends with 143 within 5 s', async () => {
    const project = await createProject();
    expect((await sync(project.config)).exitCode).toBe(0);
    const watched = startAsInit(project, ['query', ENDLESS], { SLOW_AT: 'sql SELECT count' });
    await watched.says('the slow statement begins');
    signalInit(watched, 'SIGTERM');
    expect(await endWithinGrace(watched)).toMatchObject({ exitCode: 143 });
  });
});
