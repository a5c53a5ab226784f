import { lockStateFolder } from '../../state/lock.ts';
import { type Clock, systemClock } from '../model/clock.ts';
import { toSyncError } from '../model/errors.ts';
import type { OnProgress } from '../model/progress.ts';
import type { RecordClock } from '../model/record-clock.ts';
import type { Settings } from '../model/settings.ts';
import type { Lease, StateLock, TakeStateLock } from '../model/state-lock.ts';
import { joinLocks } from './held-locks.ts';
import { lockTargets } from '../storage/lock-targets.ts';
import {
  assertTargetIsOurs,
  type OpenEffects,
  openWarehouse,
  replaceDamaged,
  takeOverTargets,
} from '../storage/open-warehouse.ts';
import { openRecordClock } from '../storage/record-times.ts';
import { listStateSources } from '../storage/restore-work-file.ts';
import type { Database } from '../warehouse/database.ts';
import { DamagedFileError } from '../warehouse/database-errors.ts';
import { chooseRunId } from './record-run.ts';

/** What works on the state needs from its caller in addition to settings. */
export interface SessionEffects {
  readonly onProgress?: OnProgress | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
  /** Takes the state's lock if it is not the state folder's own. */
  readonly takeLock?: TakeStateLock | undefined;
}

/** What a session is opened for. */
export interface SessionUse<T> {
  /** As users type it: shown to processes that wait for the state lock. A sync has no name. */
  readonly name?: string;
  /** Changes and publishes what is committed: destinations are locked as well, and must be ours. */
  readonly publishes: boolean;
  /** Called once the locks are held, before the work file is opened. */
  readonly prepare?: (settings: Settings) => Promise<void>;
  readonly work: (session: Session) => Promise<T>;
}

/** A message about the state, as it was found. */
export interface Noticed {
  readonly type: 'warning' | 'note';
  readonly message: string;
}

/** Names a run and its times. */
export interface RunStart {
  readonly runId: string;
  readonly recordClock: RecordClock;
  readonly startedAtMs: number;
}

/**
 * Holds the state lock and the open work file while work is done, and releases both whatever happens. Every sync and
 * every command that needs the work file runs in one.
 *
 * @throws SyncError for a lock that is held, a disk that fails, a state or a destination that is not ours
 */
export async function withSession<T>(
  settings: Settings,
  { clock = systemClock, signal: stop, takeLock = lockStateFolder }: SessionEffects,
  { name, publishes, prepare, work }: SessionUse<T>,
): Promise<T> {
  const lock = await takeLock(settings.stateDir, new Date(clock.now()).toISOString(), name);
  let targets: StateLock | undefined;
  try {
    // A lease stands for the locks of destinations: a paused run would keep those for ever.
    if (publishes && lock.lease === undefined) targets = await lockTargets(settings);
    const { lost, lease } = joinLocks([lock, targets], settings.stateDir);
    const signal = stop && lost ? AbortSignal.any([lost, stop]) : (lost ?? stop);
    await prepare?.(settings);
    if (publishes) await assertTargetIsOurs(settings, signal);
    if (publishes && lease?.isTakeover === true) await takeOverTargets(settings, lease);
    const noticed: Noticed[] = [];
    const notice = (type: Noticed['type']) => (message: string) => void noticed.push({ type, message });
    const effects = { clock, signal, lost, lease, onWarning: notice('warning'), onNote: notice('note') };
    const database = await openWarehouse(settings, effects);
    try {
      return await work(new Session(settings, database, { ...effects, noticed }));
    } finally {
      await database.release();
    }
  } catch (thrown) {
    throw toSyncError(thrown);
  } finally {
    await targets?.release();
    await lock.release();
  }
}

/** The state of one config, locked and open. */
export class Session {
  readonly settings: Settings;
  readonly database: Database;
  readonly effects: OpenEffects & { readonly clock: Clock; readonly lease: Lease | undefined };
  /** What was noticed when the work file was opened, or replaced. */
  readonly noticed: readonly Noticed[];
  #isReplaced = false;

  constructor(
    settings: Settings,
    database: Database,
    { noticed, ...effects }: Session['effects'] & { readonly noticed: readonly Noticed[] },
  ) {
    this.settings = settings;
    this.database = database;
    this.effects = effects;
    this.noticed = noticed;
  }

  /** Begins a run. Its times come after those of all runs in the work file, which must not be replaced later. */
  async beginRun(wantedId: string | undefined): Promise<RunStart> {
    const recordClock = await openRecordClock(this.database, this.effects.clock);
    const startedAtMs = recordClock.now();
    const runId = await chooseRunId(this.database, this.settings.stateDir, wantedId, startedAtMs);
    if (wantedId !== undefined && runId !== wantedId)
      this.effects.onNote?.(`an earlier run has the id ${wantedId}: this one is ${runId}`);
    return { runId, recordClock, startedAtMs };
  }

  /** Whether an error is damage to the work file that can still be repaired: once per session. */
  async mayReplace(error: unknown): Promise<boolean> {
    if (!(error instanceof DamagedFileError) || this.#isReplaced) return false;
    return (await listStateSources(this.settings)).length > 0;
  }

  /**
   * Replaces a work file that turned out to be damaged by what is published. What was committed since is lost with it,
   * so the work must be repeated.
   *
   * @returns false if nothing replaced it: the error stands
   */
  async replaceDamaged(error: unknown, onWarning = this.effects.onWarning): Promise<boolean> {
    if (!(error instanceof DamagedFileError) || this.#isReplaced) return false;
    this.#isReplaced = true;
    return replaceDamaged(this.database, this.settings, error, {
      ...this.effects,
      ...(onWarning && { onWarning }),
    });
  }
}
