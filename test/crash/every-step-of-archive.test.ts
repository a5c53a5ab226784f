import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { verifyState } from '../../src/commands/verify/verify.ts';
import { chooseStride, seed } from '../support/seeds.ts';
import {
  createItemsFlow,
  type Flow,
  type FlowConfig,
  HOUR_MS,
  makeItem,
  makeItems,
  noBuiltIns,
} from '../support/sync-harness.ts';
import { collectCrashStates, type CrashState, restoreCrashState } from './crash-states.ts';
import { type Outcome, readOutcome } from './read-outcome.ts';

const stream = { key: ['id'], cursor: false } as const;
const itemsOf = (more: object): FlowConfig => ({
  streams: { ...noBuiltIns, items: { path: 'items', paginated: true, key: ['id'], cursor: false, ...more } },
});

const listLeftovers = (flow: Flow) =>
  readdirSync(flow.folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(part|pending|rebuild|rewrite|tmp)/.test(name),
  );

// What the archive and a rebuild add to the steps of a sync; before and after each of them.
const OWN_STEPS = /part$|pending|^open whole|rebuild|rewrite|^copyFile|^rm |^rename/;

/** Goes through the states that a kill could leave around the steps that are looked at, each in its turn. */
async function forEachState(
  states: readonly CrashState[],
  flow: Flow,
  prove: () => Promise<void>,
): Promise<void> {
  const isOwn = (state: CrashState | undefined) => OWN_STEPS.test(state?.step?.name ?? '');
  const own = states.filter((state, at) => isOwn(state) || isOwn(states[at - 1]));
  expect(own.length).toBeGreaterThan(3);
  // Each in the soak; in daily runs a part of them, another one with each seed.
  const stride = chooseStride(15);
  const chosen = own.filter((_, at) => at % stride === seed % stride || at === own.length - 1);
  for (const state of chosen) {
    restoreCrashState(state, flow.folder);
    await prove().catch((error: unknown) => {
      throw new Error(
        `SLUICE_SEED=${seed}: killed before step ${state.step?.n ?? 'none'}, ${state.step?.name ?? 'at the end'}`,
        {
          cause: error,
        },
      );
    });
  }
}

async function createSynced(): Promise<Flow> {
  const flow = createItemsFlow(makeItems(30), { stream });
  expect((await flow.sync()).exitCode).toBe(0);
  await flow.clock.sleep(2 * HOUR_MS);
  flow.simulator.editRecords('items', (records) => [...records.slice(2), makeItem(900)]);
  return flow;
}

describe('a process that is killed before any step', () => {
  it('of a sync that archives: the next sync settles the archive, and a rebuild gives the table', async () => {
    const flow = await createSynced();
    const states = await collectCrashStates(
      flow.folder,
      () => flow.sync(),
      () => flow.simulator.log.length,
    );
    await forEachState(states, flow, async () => {
      expect(await flow.sync()).toMatchObject({ exitCode: 0, warnings: [] });
      const outcome = await readOutcome(flow.duckdbPath);
      expect(await flow.rebuild()).toMatchObject({ exitCode: 0, streams: [{ status: 'rebuilt' }] });
      expect(await readOutcome(flow.duckdbPath)).toEqual(outcome);
      expect(await flow.sync({ force: true })).toMatchObject({ exitCode: 0, warnings: [] });
      expect(listLeftovers(flow)).toEqual([]);
    });
  }, 240_000);

  it('of a rebuild: the old table or the new one is there, and the rebuild can be repeated', async () => {
    const flow = await createSynced();
    expect((await flow.sync()).exitCode).toBe(0);
    const before = await readOutcome(flow.duckdbPath);
    const config = itemsOf({ columns: { amount: { type: 'VARCHAR' }, name: { exclude: true } } });
    const states = await collectCrashStates(
      flow.folder,
      () => flow.rebuild({ config }),
      () => flow.simulator.log.length,
    );
    const after = await readOutcome(flow.duckdbPath);
    expect(after).not.toEqual(before);
    const views: readonly Outcome[] = [before, after];
    await forEachState(states, flow, async () => {
      expect(views).toContainEqual(await readOutcome(flow.duckdbPath));
      // A sync continues from the one or the other, and clears what was on the way.
      expect(await flow.sync({ config })).toMatchObject({ exitCode: 0, warnings: [] });
      expect(listLeftovers(flow).filter((name) => !name.includes('archive'))).toEqual([]);
      const asked = flow.simulator.log.length;
      expect(await flow.rebuild({ config })).toMatchObject({ exitCode: 0, warnings: [] });
      expect(await readOutcome(flow.duckdbPath)).toEqual(after);
      expect(flow.simulator.log).toHaveLength(asked);
      const report = await verifyState(flow.settings(config), { clock: flow.clock });
      expect(report.items.filter(({ status }) => status !== 'ok')).toEqual([]);
      expect(listLeftovers(flow)).toEqual([]);
    });
  }, 240_000);
});
