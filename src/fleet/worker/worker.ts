import { toSyncError } from '../../model/errors.ts';
import type { Clock } from '../../model/clock.ts';
import type { FleetSettings } from '../../model/fleet.ts';
import { listAlike } from '../database/alike-accounts.ts';
import { forgetQueued, queueDue } from '../database/due-accounts.ts';
import { endRun, type RunEnd } from '../database/end-run.ts';
import { listMarks, renewLeases, takeAccount, type TakenAccount } from '../database/leases.ts';
import type { AccountQueue } from '../database/queue.ts';
import type { FleetDatabase } from '../database/sql.ts';
import { type WorkerIdentity, markSeen, markStopped } from '../database/workers.ts';
import type { LaneQuestion, LaneRun } from '../run/messages.ts';
import { answerQuestion } from './answer-question.ts';
import { HeldRuns } from './held-runs.ts';
import { describeDeath } from './describe-death.ts';
import { Lane, type LaneProgram } from './lane.ts';
import { type FleetSchedule, nextTime, planNext } from './plan-next.ts';
import type { ServedAccounts, WorkerEvent } from './worker-events.ts';

/** How often a worker looks for accounts that are due, ms. */
const LOOK_MS = 1_000;
/** A lease is renewed this often before it ends. */
const RENEWALS = 4;
/** Renewals in a row that a process may leave unanswered before it counts as hanging. */
const MOST_UNANSWERED = 40;
const SLOWEST_RETRY_MS = 5_000;
/** After a question that the database did not answer, ms. */
const ASK_AGAIN_MS = 500;

/** What a worker is made of. */
export interface WorkerParts {
  readonly settings: FleetSettings;
  readonly database: FleetDatabase;
  readonly queue: AccountQueue;
  readonly identity: WorkerIdentity;
  readonly schedule: FleetSchedule;
  /** The programs of its lanes: it runs as many accounts at once. */
  readonly programs: readonly LaneProgram[];
  /** The accounts of the config as it is now. */
  readonly readAccounts: () => Promise<ServedAccounts>;
  readonly clock: Clock;
  /** Drains the worker: runs keep whole pages, end, and are put away. */
  readonly signal: AbortSignal;
  readonly onEvent: (event: WorkerEvent) => void;
}

/** Takes accounts that are due, runs them in its lanes, and commits how they ended. */
export class Worker {
  readonly #parts: WorkerParts;
  readonly #lanes: readonly Lane[];
  readonly #busy = new Set<Lane>();
  readonly #held = new HeldRuns();
  readonly #work = new Set<Promise<void>>();
  #served: ServedAccounts = { names: [], sources: new Map() };
  /** Settled when a lane is free. */
  #news = Promise.withResolvers<void>();
  #isAway = false;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.#lanes = parts.programs.map((program) => new Lane(program));
  }

  /** Works until the signal aborts and every run has ended. */
  async run(): Promise<void> {
    const { signal, database, identity } = this.#parts;
    const done = new AbortController();
    const renewing = this.#renewUntil(done.signal);
    signal.addEventListener('abort', () => {
      this.#tell({ type: 'draining', runs: this.#work.size });
      this.#drain();
    });
    while (!signal.aborted) {
      await this.#guarded(() => this.#look());
      await this.#pause(LOOK_MS, signal);
    }
    this.#drain();
    while (this.#work.size > 0) await Promise.all(this.#work);
    done.abort();
    await renewing;
    for (const lane of this.#lanes) lane.close();
    await this.#guarded(() => markStopped(database, identity.worker));
  }

  /** The accounts at work. */
  get running(): readonly string[] {
    return this.#held.list().map(({ taken }) => taken.account);
  }

  #drain(): void {
    for (const lane of this.#busy) lane.stop();
    this.#news.resolve();
  }

  async #look(): Promise<void> {
    const { database, queue, readAccounts } = this.#parts;
    this.#served = await readAccounts();
    await queueDue(database, queue, this.#served.names);
    const free = this.#lanes.filter((lane) => !this.#busy.has(lane));
    if (free.length === 0) return;
    const beganMs = this.#parts.clock.monotonic();
    const taken = await this.#take(free.length);
    for (const [at, one] of taken.entries()) {
      const lane = free[at];
      if (lane !== undefined) this.#begin(one, lane, beganMs);
    }
  }

  /** Takes jobs and their leases together: a kill in between leaves the jobs in the queue. */
  #take(most: number): Promise<readonly TakenAccount[]> {
    const { database, queue, identity, settings } = this.#parts;
    const holder = { worker: identity.worker, leaseMs: settings.leaseMs };
    return database.transaction(async (sql) => {
      const taken: TakenAccount[] = [];
      for (const { id: jobId, account } of await queue.take(sql, most)) {
        const isServed = this.#served.names.includes(account);
        const one = isServed ? await takeAccount(sql, { account, jobId }, holder) : undefined;
        // A worker whose config has it queues it again.
        if (!isServed) await forgetQueued(sql, account);
        if (one === undefined) await queue.complete(sql, jobId, { skipped: true });
        else taken.push(one);
      }
      return taken;
    });
  }

  #begin(taken: TakenAccount, lane: Lane, beganMs: number): void {
    const { clock, settings, signal } = this.#parts;
    this.#busy.add(lane);
    this.#held.add({
      taken,
      lane,
      startedAtMs: clock.monotonic(),
      endsAtMs: beganMs + settings.leaseMs,
      isLost: false,
      isEnded: false,
    });
    const { account, token, isTakeover } = taken;
    this.#tell({ type: 'run-started', account, token, isTakeover });
    const work: Promise<void> = this.#runIn(lane, taken).finally(() => {
      this.#work.delete(work);
      this.#busy.delete(lane);
      this.#held.remove(taken);
      this.#news.resolve();
    });
    this.#work.add(work);
    if (signal.aborted) lane.stop();
  }

  async #runIn(lane: Lane, taken: TakenAccount): Promise<void> {
    const { account } = taken;
    const death = await lane.run(
      await this.#describeRun(taken),
      { ask: (question) => this.#ask(taken, question) },
      (end) => this.#settle(taken, { status: 'ended', ...end }, end.warnings),
    );
    const run = this.#held.get(account, taken.token);
    if (death === undefined || run?.isLost === true || run?.isEnded === true) return;
    await this.#settle(taken, describeDeath(account, death), []);
  }

  async #describeRun(taken: TakenAccount): Promise<LaneRun> {
    const { account, token, isTakeover, object, stages, acceptsNewKey } = taken;
    const { sources } = this.#served;
    const key = sources.get(account)?.key;
    const sharesKey = [...sources.values()].filter((one) => one.key === key).length > 1;
    const { database } = this.#parts;
    const alike = await listAlike(database, taken, sources).catch(() => []);
    const quotas = await listMarks(database, { account, key }).catch(() => []);
    return { account, token, isTakeover, object, stages, quotas, sharesKey, acceptsNewKey, alike };
  }

  /** Tries while the lease lasts: a database that is away for a moment costs no run its work. */
  async #ask(taken: TakenAccount, question: LaneQuestion): Promise<boolean> {
    const { clock, database } = this.#parts;
    for (;;) {
      const isStill = await this.#guarded(() => answerQuestion(database, taken, question));
      if (isStill !== undefined) return isStill;
      const run = this.#held.get(taken.account, taken.token);
      if (run === undefined || run.isLost || run.endsAtMs <= clock.monotonic()) return false;
      await clock.sleep(ASK_AGAIN_MS);
    }
  }

  /**
   * Commits the end of a run; tries until the database says yes or no. A worker that was asked to end gives up once the
   * lease has ended: another one may have the account then, and the run is repeated.
   */
  async #settle(taken: TakenAccount, end: RunEnd, warnings: readonly string[]): Promise<boolean> {
    const { account, token } = taken;
    const { clock, schedule } = this.#parts;
    this.#held.change(taken, { isEnded: true });
    for (const message of warnings) this.#tell({ type: 'warning', account, message });
    let nextInMs: number | undefined;
    const plan = (nowMs: number, failures: number) => {
      const next = planNext(end, { failures, nowMs }, nextTime(schedule, account, nowMs));
      nextInMs = next.delayMs;
      return next;
    };
    for (let pauseMs = LOOK_MS; ; pauseMs = Math.min(SLOWEST_RETRY_MS, pauseMs * 2)) {
      const isAccepted = await this.#guarded(() => endRun(this.#parts, taken, end, plan));
      if (isAccepted !== undefined) {
        const tookMs = clock.monotonic() - (this.#held.get(account, token)?.startedAtMs ?? clock.monotonic());
        this.#tell({ type: 'run-ended', account, token, end, nextInMs, isAccepted, tookMs });
        return isAccepted;
      }
      const endsAtMs = this.#held.get(account, token)?.endsAtMs ?? -Infinity;
      if (this.#parts.signal.aborted && endsAtMs <= clock.monotonic()) {
        this.#tell({ type: 'run-lost', account, token });
        return false;
      }
      await clock.sleep(pauseMs);
    }
  }

  async #renewUntil(done: AbortSignal): Promise<void> {
    const { settings, clock } = this.#parts;
    const everyMs = settings.leaseMs / RENEWALS;
    while (!done.aborted) {
      const renewal = this.#guarded(() => this.#renew());
      // A database that does not answer must not keep runs whose leases have ended.
      await Promise.race([renewal, clock.sleep(everyMs, done).catch(() => undefined)]);
      this.#killLost();
      await clock.sleep(everyMs, done).catch(() => undefined);
      this.#killLost();
    }
  }

  async #renew(): Promise<void> {
    const { database, identity, settings, clock } = this.#parts;
    const beganMs = clock.monotonic();
    const runs = this.#held.list().filter(({ isLost }) => !isLost);
    const leases = runs.map(({ taken: { account, token } }) => ({ account, token }));
    const held = await renewLeases(database, leases, settings.leaseMs);
    for (const { taken, lane } of runs) {
      const isStill = held.has(taken.account);
      this.#held.change(taken, { endsAtMs: isStill ? beganMs + settings.leaseMs : -Infinity });
      if (isStill) lane.tellHeld();
    }
    await markSeen(database, identity);
  }

  /** Ends runs whose account another machine may have by now; one that has ended itself is decided by its commit. */
  #killLost(): void {
    const nowMs = this.#parts.clock.monotonic();
    for (const { taken, lane, endsAtMs, isLost, isEnded } of this.#held.list()) {
      if (isLost || isEnded) continue;
      // Its death is recorded as that of any other process.
      if (lane.unanswered > MOST_UNANSWERED) lane.kill();
      if (endsAtMs > nowMs) continue;
      const { account, token } = taken;
      this.#held.change(taken, { isLost: true });
      lane.kill();
      this.#tell({ type: 'run-lost', account, token });
    }
  }

  /** What the database does not answer is tried again later; undefined then. */
  async #guarded<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      const result = await work();
      if (this.#isAway) this.#tell({ type: 'database-back' });
      this.#isAway = false;
      return result;
    } catch (thrown) {
      const error = toSyncError(thrown);
      if (!this.#isAway) this.#tell({ type: 'database-away', error });
      this.#isAway = true;
      return undefined;
    }
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    const awake = new AbortController();
    const sleep = this.#parts.clock.sleep(ms, AbortSignal.any([awake.signal, signal])).catch(() => undefined);
    await Promise.race([sleep, this.#news.promise]);
    this.#news = Promise.withResolvers();
    awake.abort();
  }

  #tell(event: WorkerEvent): void {
    this.#parts.onEvent(event);
  }
}
