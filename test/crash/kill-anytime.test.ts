import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sync } from '../../src/index.ts';
import { type ChildProject, createChildProject } from '../support/cli-child.ts';
import { waitForEnd } from '../support/run-node.ts';
import { countRuns, createRandom, seed } from '../support/seeds.ts';
import { countScanRequests, makeItems } from '../support/sync-harness.ts';
import { type Outcome, readOutcome } from './read-outcome.ts';

const ROWS = 400;
const PAGE = 40;
const CLEAN = countScanRequests(ROWS, PAGE);
const MOST_IN_FLIGHT = 16;
const KILLS = countRuns(10);
// A run that is killed so often would never end by itself.
const MOST_KILLS_A_PROJECT = 6;

const projects: ChildProject[] = [];
const random = createRandom();
let expected: Outcome;
/** How long an undisturbed process takes here. */
let lifeMs: number;

async function createProject(): Promise<ChildProject> {
  const project = await createChildProject({ records: makeItems(ROWS), stream: { pageSize: PAGE } });
  projects.push(project);
  return project;
}

beforeAll(async () => {
  const project = await createProject();
  const startedAtMs = performance.now();
  expect(await project.run(['sync', '--no-progress'])).toMatchObject({ exitCode: 0 });
  lifeMs = performance.now() - startedAtMs;
  expected = await readOutcome(project.duckdb);
});
afterAll(async () => {
  await Promise.all(projects.map(({ server }) => server.close()));
});

/** Starts a sync and kills it at some moment of its life; false when it was done before. */
async function runAndKill(project: ChildProject): Promise<boolean> {
  const child = project.start(['sync', '--no-progress']);
  const timer = setTimeout(() => child.kill('SIGKILL'), random() * lifeMs);
  const end = await waitForEnd(child);
  clearTimeout(timer);
  if (end.signal === null) expect(end).toMatchObject({ exitCode: 0 });
  return end.signal === 'SIGKILL';
}

describe(`the command line, killed at ${KILLS} moments (SLUICE_SEED=${seed})`, () => {
  it(
    'gives in the end what an undisturbed run gives, and readers never see anything else',
    { timeout: KILLS * 30_000 },
    async () => {
      let kills = 0;
      let realKills = 0;
      while (kills < KILLS) {
        const project = await createProject();
        let killsHere = 0;
        while (killsHere < MOST_KILLS_A_PROJECT && (await runAndKill(project))) {
          killsHere += 1;
          if (existsSync(project.duckdb)) expect(await readOutcome(project.duckdb)).toEqual(expected);
        }
        const report = await sync(project.config);
        expect(report).toMatchObject({ exitCode: 0, warnings: [] });
        expect(await readOutcome(project.duckdb)).toEqual(expected);
        // The look at the head, and what was on its way.
        expect(project.simulator.arrivals.requests).toBeLessThanOrEqual(
          CLEAN + 1 + killsHere * (1 + MOST_IN_FLIGHT),
        );
        // One that was always done in time must not go on for ever.
        kills += Math.max(1, killsHere);
        realKills += killsHere;
        await project.server.close();
      }
      expect(realKills).toBeGreaterThan(0);
    },
  );
});
