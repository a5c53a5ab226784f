import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom } from '../../support/seeds.ts';
import { Gate } from '../gate.ts';
import type { Machine } from '../machine.ts';
import type { PartRun } from '../part.ts';
import type { PlaceKind } from '../project.ts';
import { Scene } from '../scene.ts';
import { fingerprint } from '../tables.ts';
import type { Verdicts } from '../verdicts.ts';

const LEASE_S = 5;
const kinds: readonly PlaceKind[] = ['duckdb', 'parquet', 'ducklake'];
/** More than any run says to the database, the store and the API together. */
const MOST_MESSAGES = 400;

/** A machine that stops at every message that one of its runs sends, and goes on once another one has done the work. */
export async function proveZombies({ stage, verdicts, isLarge }: PartRun): Promise<void> {
  const perKind = isLarge ? MOST_MESSAGES : Number(process.env['SLUICE_FLEET_STOPS'] ?? 2);
  const names = kinds.flatMap((kind) =>
    Array.from({ length: perKind + 1 }, (_, at) => [`${kind}-${at}`, kind] as const),
  );
  const scene = await Scene.open(stage, {
    name: 'zombies',
    accounts: Object.fromEntries(names),
    leaseS: LEASE_S,
    putEveryPages: 2,
    readsAgain: true,
    api: {
      limits: { requests: 600, windowMs: 3_600_000 },
      counts: { mentions: 20, prompts: 450, categories: 40, products: 40 },
    },
  });
  await scene.ask('UPDATE sluice_fleet.accounts SET paused_at = clock_timestamp()');
  const gates = await Promise.all(
    [stage.postgres.port, Number(stage.store.endpoint.split(':')[1])].map((port) => new Gate(port).start()),
  );
  const [database, store] = gates;
  try {
    const first = scene.startMachine(1, {
      ...(database && { databasePort: database.port }),
      ...(store && { storePort: store.port }),
      lakeThroughGate: true,
    });
    const second = scene.startMachine(1);
    const trial = new Trial(scene, gates, { first, second });
    const random = createRandom();
    for (const kind of kinds) {
      const messages = await trial.count(`${kind}-0`);
      // A run with a lake behind a server says five times as much.
      const stops = isLarge || kind !== 'ducklake' ? perKind : 1;
      const steps = isLarge
        ? Array.from({ length: messages }, (_, at) => at + 1)
        : Array.from({ length: stops }, (_, at) => 1 + Math.floor(((at + random()) * messages) / stops));
      const ends: StopEnd[] = [];
      for (const [at, step] of steps.entries())
        ends.push(await trial.stopAt(`${kind}-${at + 1}`, step, verdicts));
      const count = (wanted: StopEnd) => ends.filter((end) => end === wanted).length;
      verdicts.check(
        `${kind}: a run that is stopped at one of its ${messages} messages changes nothing later`,
        count('changed') === 0,
        `${count('unchanged')} stops${isLarge ? '' : ` at ${steps.join(', ')}`}, ${count('not reached')} not reached`,
      );
    }
  } finally {
    for (const gate of gates) gate.onMessage = undefined;
    await scene.close();
    for (const gate of gates) gate.stop();
  }
}

/** What came of a stop; a run may have fewer messages than the one that was counted. */
type StopEnd = 'unchanged' | 'changed' | 'not reached';

class Trial {
  readonly #scene: Scene;
  readonly #gates: readonly Gate[];
  readonly #first: Machine;
  readonly #second: Machine;

  constructor(
    scene: Scene,
    gates: readonly Gate[],
    { first, second }: { readonly first: Machine; readonly second: Machine },
  ) {
    this.#scene = scene;
    this.#gates = gates;
    this.#first = first;
    this.#second = second;
  }

  /** How many messages a run of an account sends that nobody disturbs. */
  async count(account: string): Promise<number> {
    const scene = this.#scene;
    let messages = 0;
    this.#second.pause();
    await this.#release(account);
    await scene.waitFor('the run to start', () => this.#first.list('run-started', account).length > 0);
    this.#listen(() => {
      messages += 1;
      return Promise.resolve();
    });
    await scene.waitFor('the run to end', () => this.#first.list('run-ended', account).length > 0);
    this.#listen(undefined);
    this.#second.goOn();
    return messages;
  }

  /** Stops the first machine at a message, and looks whether all is as the second one left it when it has gone on. */
  async stopAt(account: string, step: number, verdicts: Verdicts): Promise<StopEnd> {
    const scene = this.#scene;
    scene.api.version = 1;
    this.#second.pause();
    let messages = 0;
    let isStopped = false;
    const held = Promise.withResolvers<void>();
    await this.#release(account);
    await scene.waitFor('the run to start', () => this.#first.list('run-started', account).length > 0);
    this.#listen((isRequest) => {
      // The other machine asks the same API.
      if (isRequest && isStopped) return Promise.resolve();
      messages += 1;
      if (messages < step) return Promise.resolve();
      if (!isStopped) this.#first.pause();
      isStopped = true;
      // What it had said already arrives later as well.
      return held.promise;
    });
    await scene.waitFor(
      'the stop or the end',
      () => isStopped || this.#first.list('run-ended', account).length > 0,
    );
    if (!isStopped) {
      this.#listen(undefined);
      this.#second.goOn();
      return 'not reached';
    }
    // What the other one publishes is newer: older rows that appear later are seen.
    scene.api.version = 2;
    await scene.ask(
      'UPDATE sluice_fleet.accounts SET next_at = coalesce(next_at, clock_timestamp()) WHERE account = $1',
      [account],
    );
    this.#second.goOn();
    await scene.waitFor(`the second machine to finish ${account} after a stop at ${step}`, () =>
      this.#second.list('run-ended', account).some((line) => line['exitCode'] === 0),
    );
    const before = await this.#look(account);
    this.#listen(undefined);
    held.resolve();
    this.#first.goOn();
    // Its lease is over: it kills the run, or is refused.
    await scene.waitFor(
      `the first machine to give ${account} up`,
      () =>
        this.#first.list('run-lost', account).length > 0 || this.#first.list('run-ended', account).length > 0,
      60,
    );
    await sleep(500);
    const after = await this.#look(account);
    const accepted = await this.#countLateEnds(account);
    await scene.ask(
      'UPDATE sluice_fleet.accounts SET next_at = clock_timestamp(), queued_at = NULL WHERE account = $1',
      [account],
    );
    await scene.waitFor(`the next run of ${account}`, async () => {
      const [row] = await scene.ask(
        'SELECT count(*)::int AS n FROM sluice_fleet.runs WHERE account = $1 AND token > $2 AND exit_code IS NOT NULL',
        [account, before.token],
      );
      return Number(row?.['n']) > 0;
    });
    const next = await this.#look(account);
    const isFine =
      before.exitCode === 0 &&
      JSON.stringify(before) === JSON.stringify(after) &&
      next.exitCode === 0 &&
      next.tables === before.tables &&
      accepted === 0;
    if (!isFine)
      verdicts.check(
        `${account}: stopped at message ${step}`,
        false,
        JSON.stringify({ before, after, next, accepted }),
      );
    return isFine ? 'unchanged' : 'changed';
  }

  async #look(account: string) {
    const [row] = await this.#scene.ask(
      'SELECT token, object, last_exit_code, last_error FROM sluice_fleet.accounts WHERE account = $1',
      [account],
    );
    return {
      token: Number(row?.['token']),
      object: row?.['object'],
      exitCode: row?.['last_exit_code'],
      error: row?.['last_error'],
      tables: JSON.stringify(await fingerprint(this.#scene.placeOf(account))),
    };
  }

  /** Ends of the first machine that were accepted although the second one had the account by then. */
  async #countLateEnds(account: string): Promise<number> {
    const rows = await this.#scene.ask(
      `SELECT a.token FROM sluice_fleet.runs a JOIN sluice_fleet.runs b ON a.account = b.account AND b.token = a.token + 1
        WHERE a.account = $1 AND a.status <> 'lost' AND a.finished_at > b.started_at`,
      [account],
    );
    return rows.length;
  }

  #release(account: string): Promise<unknown> {
    return this.#scene.ask(
      'UPDATE sluice_fleet.accounts SET paused_at = NULL, queued_at = NULL, next_at = clock_timestamp() WHERE account = $1',
      [account],
    );
  }

  #listen(listener: ((isRequest: boolean) => Promise<void>) | undefined): void {
    for (const gate of this.#gates) gate.onMessage = listener && (() => listener(false));
    this.#scene.api.onRequest = listener && (() => listener(true));
  }
}
