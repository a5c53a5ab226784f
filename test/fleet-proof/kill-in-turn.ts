import { setTimeout as sleep } from 'node:timers/promises';
import type { Machine } from './machine.ts';
import type { Scene } from './scene.ts';

/** Machines of which one after the other is killed and replaced. */
export class KilledMachines {
  readonly #scene: Scene;
  readonly #lanes: number;
  readonly #machines: Machine[];
  readonly #killedAtMs = new Map<number, number>();
  #isDone = false;

  constructor(scene: Scene, { count, lanes }: { readonly count: number; readonly lanes: number }) {
    this.#scene = scene;
    this.#lanes = lanes;
    this.#machines = Array.from({ length: count }, () => scene.startMachine(lanes));
  }

  get kills(): number {
    return this.#killedAtMs.size;
  }

  /** Kills one every so often until work is done, or so many were killed. */
  async during(everyMs: number, work: Promise<void>, most = Infinity): Promise<void> {
    const killing = this.#killUntilDone(everyMs, most);
    try {
      await work;
    } finally {
      this.#isDone = true;
    }
    await killing;
  }

  /** From each kill of a run until the next one of its account began, s, the shortest first. */
  async readRecoveries(): Promise<readonly number[]> {
    const rows = await this.#scene.ask(
      `SELECT a.worker, extract(epoch FROM b.started_at)::float8 * 1000 AS at
         FROM sluice_fleet.runs a JOIN sluice_fleet.runs b ON a.account = b.account AND b.token = a.token + 1
        WHERE a.status = 'lost'`,
    );
    return rows
      .map(({ worker, at }) => (Number(at) - (this.#killedAtMs.get(readPid(worker)) ?? NaN)) / 1_000)
      .filter((seconds) => !Number.isNaN(seconds))
      .toSorted((a, b) => a - b);
  }

  async #killUntilDone(everyMs: number, most: number): Promise<void> {
    for (let at = 0; this.kills < most; at = (at + 1) % this.#machines.length) {
      await sleep(everyMs);
      const victim = this.#machines[at];
      // On a slow machine, too: who is killed each time before a run ends would never finish one.
      while (!this.#isDone && victim?.list('run-ended').length === 0) await sleep(100);
      if (this.#isDone || victim === undefined) return;
      this.#killedAtMs.set(victim.pid, Date.now());
      await victim.kill();
      this.#machines[at] = this.#scene.startMachine(this.#lanes);
    }
  }
}

/** Names of workers have the process id in them. */
function readPid(worker: unknown): number {
  return Number(/-(\d+)-[0-9a-f]+$/.exec(String(worker))?.[1]);
}
