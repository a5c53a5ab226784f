import { cpSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LostLockError } from '../../src/model/errors.ts';
import { createFleetLeases, type HeldLease } from '../support/fleet-leases.ts';
import { openStage, type Stage } from '../support/held-actors.ts';
import { chooseStride, countRuns, createRandom, seed } from '../support/seeds.ts';
import { makeFolder } from '../support/sync-harness.ts';
import { makeWorld, type PublisherCase, type PublishWorld } from './publish-world.ts';

const OLD = [1, 2, 3];
const OF_A = [10, 20, 30, 40];
const OF_B = [5, 6, 7, 8, 9];
const OF_C = [5, 6, 7, 8, 9, 11];

/** How a fence is tried. */
export interface FenceOptions {
  /** Every nth step is tried in the full proof. */
  readonly stride?: number;
  /** The same for the steps of a claim. */
  readonly claimStride?: number;
  /** Random pairs of steps in the full proof. */
  readonly pairs?: number;
  /** Names of the steps before which A is held; all of them when left out. */
  readonly only?: RegExp;
}

/**
 * What a publisher has to keep when one run overtakes another: A is paused at any step of its publish, its lease ends, B
 * takes over from the same earlier state and publishes other rows, and A goes on.
 */
export function describeFence(
  name: string,
  getCase: () => PublisherCase,
  { stride = 3, claimStride = 1, pairs = 10, only }: FenceOptions = {},
): void {
  async function setUp(isFirst: boolean) {
    const tried = getCase();
    const a = await makeWorld(tried, makeFolder());
    const stage = await openStage((path) => path.startsWith(dirname(a.place)));
    const leases = createFleetLeases(() => stage.step('confirm'));
    const first = await leases.take();
    if (!isFirst) {
      await a.commit(OLD);
      expect((await a.publish(first.lease)).failure).toBeUndefined();
    }
    const b = await makeWorld(tried, makeFolder(), a.place);
    cpSync(a.file, b.file);
    const generation = await a.commit(OF_A);
    return { tried, a, b, stage, leases, first, generation };
  }
  type Scene = Awaited<ReturnType<typeof setUp>>;

  /** What a run does that begins with the lease of another which may be at work: as a session does. */
  async function takeOver({ a, b, generation }: Scene, { lease }: HeldLease): Promise<void> {
    expect(lease.isTakeover).toBe(true);
    await b.publisher.claim();
    await b.publisher.takeOver?.(lease);
    await lease.settle?.();
    if ((await b.publisher.inspect())?.generation !== generation) return;
    // A's commit was first: B goes on from there.
    rmSync(b.file);
    if (b.publisher.state === undefined) cpSync(a.file, b.file);
    else await b.publisher.state.restore(b.file);
  }

  async function expectOvertaken(
    scene: Scene,
    end: PromiseSettledResult<Awaited<ReturnType<PublishWorld['publish']>>>,
    wasPublished: boolean,
  ): Promise<void> {
    const { tried, a, b, leases } = scene;
    if (end.status === 'rejected') expect(end.reason).toBeInstanceOf(LostLockError);
    else expect(wasPublished).toBe(true);
    expect(await tried.read(a.place)).toEqual(OF_B);
    // What comes next finds nothing that it could not go on from.
    await b.commit(OF_C);
    const next = await leases.take();
    expect(next.lease.isTakeover).toBe(false);
    await b.publisher.claim();
    const { failure } = await b.publish(next.lease);
    expect(failure).toBeUndefined();
    expect(await tried.read(a.place)).toEqual(OF_C);
  }

  async function overtake(
    scene: Scene,
    at: readonly [ofA: number, ofB: number],
  ): Promise<string | undefined> {
    const { a, b, stage, leases, first } = scene;
    const late = stage.begin(at[0], () => a.publish(first.lease), only);
    const held = await late.stopped;
    if (held === undefined) return undefined;
    leases.end();
    const second = await leases.take();
    let wasPublished = false;
    const other = stage.begin(at[1], async () => {
      await takeOver(scene, second);
      wasPublished = (await b.publisher.inspect())?.generation === scene.generation;
      await b.commit(OF_B);
      return b.publish(second.lease);
    });
    const between = await other.stopped;
    const [endOfA, endOfB] =
      between === undefined
        ? await inOrder(
            () => other.goOn(),
            () => late.goOn(),
          ).then(([one, two]) => [two, one] as const)
        : await inOrder(
            () => late.goOn(),
            () => other.goOn(),
          );
    if (endOfB.status === 'rejected') throw endOfB.reason;
    expect(endOfB.value.failure).toBeUndefined();
    await second.release();
    await expectOvertaken(scene, endOfA, wasPublished || between !== undefined);
    return held;
  }

  describe(`the fence of ${name}`, () => {
    it.each([
      ['', false],
      [' of a first publish', true],
    ])('holds at every step%s', async (_, isFirst) => {
      const step = chooseStride(stride);
      for (let at = 1 + (seed % step); ; at += step) {
        const scene = await setUp(isFirst);
        const held = await overtake(scene, [at, Infinity])
          .catch((cause: unknown) => {
            throw new Error(`SLUICE_SEED=${seed}: A was held at its step ${at}: ${String(cause)}`, { cause });
          })
          .finally(() => {
            scene.stage.close();
          });
        if (held === undefined) break;
      }
    });

    it('lets a run claim what another one commits first in the meantime', async () => {
      const step = chooseStride(claimStride);
      for (let commit = 1; ; commit += 1)
        for (let at = 1 + (seed % step); ; at += step) {
          const { a, b, stage, first } = await setUp(true);
          try {
            const publish = stage.begin(commit, () => a.publish(first.lease), /^sql COMMIT/);
            if ((await publish.stopped) === undefined) return;
            const claim = stage.begin(at, () => b.publisher.claim());
            const held = await claim.stopped;
            expect(await publish.goOn()).toMatchObject({ status: 'fulfilled' });
            const where = `SLUICE_SEED=${seed}: before commit ${commit} of A, the claim of B was held at its step ${at}`;
            expect(await claim.goOn(), where).toMatchObject({ status: 'fulfilled' });
            if (held === undefined) break;
          } finally {
            stage.close();
          }
        }
    });

    it('holds while both are at work', async () => {
      const random = createRandom();
      const most = await countSteps(await setUp(false), only);
      for (let run = 0; run < countRuns(pairs); run += 1) {
        const at = [1 + Math.floor(random() * most), 1 + Math.floor(random() * most * 1.5)] as const;
        const scene = await setUp(run % 3 === 0);
        await overtake(scene, at)
          .catch((cause: unknown) => {
            const where = `SLUICE_SEED=${seed}: A and B were held at ${at.join(' and ')}`;
            throw new Error(`${where}: ${String(cause)}`, { cause });
          })
          .finally(() => {
            scene.stage.close();
          });
      }
    });
  });
}

async function inOrder<A, B>(one: () => Promise<A>, two: () => Promise<B>): Promise<readonly [A, B]> {
  const first = await one();
  return [first, await two()];
}

async function countSteps(
  { a, stage, first }: { a: PublishWorld; stage: Stage; first: HeldLease },
  only: RegExp | undefined,
) {
  const actor = stage.begin(Infinity, () => a.publish(first.lease), only);
  await actor.goOn();
  stage.close();
  return actor.countSteps();
}
