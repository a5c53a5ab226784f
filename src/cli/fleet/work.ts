import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { extname, join } from 'node:path';
import { openFleetDatabase } from '../../fleet/database/open-database.ts';
import { addAccounts, planAgain } from '../../fleet/database/known-accounts.ts';
import { AccountQueue } from '../../fleet/database/queue.ts';
import { assertMigrated } from '../../fleet/database/schema.ts';
import type { FleetDatabase } from '../../fleet/database/sql.ts';
import { markSeen } from '../../fleet/database/workers.ts';
import { loadTar } from '../../fleet/parcel/tar-stream.ts';
import { tryEncryptionKey, tryStore } from '../../fleet/try-store.ts';
import type { LaneProgram } from '../../fleet/worker/lane.ts';
import { type FleetSchedule, nextTime } from '../../fleet/worker/plan-next.ts';
import { Worker } from '../../fleet/worker/worker.ts';
import type { ServedAccounts } from '../../fleet/worker/worker-events.ts';
import { version } from '../../model/version.ts';
import type { WorkRequest } from '../frame/fleet-engine.ts';
import type { LaneArguments } from './lane-arguments.ts';
import { prepareScratch, type Scratch } from './prepare-scratch.ts';
import { readSchedule } from './read-schedule.ts';
import { warnOfQueue } from './warn-of-queue.ts';

/** For taking, renewing and committing at once, and for the queue's own upkeep. */
const CONNECTIONS = 4;
/** How often the config is read again, ms. */
const READ_EVERY_MS = 30_000;

/**
 * Works for a fleet until the signal aborts and every run has ended.
 *
 * @throws ConfigError (2) or StorageError (6) for what keeps it from beginning
 */
export async function workForFleet(request: WorkRequest): Promise<void> {
  const served = await request.readAccounts();
  const schedule = readSchedule(request.settings, request.clock.now());
  const worker = `${hostname()}-${process.pid}-${randomBytes(3).toString('hex')}`;
  const scratch = prepareScratch(request.scratch, worker);
  try {
    const named = { name: `sluice ${worker}`, connections: CONNECTIONS };
    const database = await openFleetDatabase(request.settings, named);
    try {
      await workOn(database, request, { served, schedule, worker, scratch });
    } finally {
      await database.close();
    }
  } finally {
    rmSync(scratch.own, { recursive: true, force: true });
  }
}

/** What a worker begins with. */
interface Beginning {
  readonly served: ServedAccounts;
  readonly schedule: FleetSchedule;
  readonly worker: string;
  readonly scratch: Scratch;
}

async function workOn(
  database: FleetDatabase,
  request: WorkRequest,
  { served, schedule, worker, scratch }: Beginning,
): Promise<void> {
  const { settings, lanes, clock, signal, onEvent } = request;
  await assertMigrated(database);
  // Before an account is taken.
  await loadTar();
  await tryStore(settings, database);
  await tryEncryptionKey(settings, database);
  const queue = await AccountQueue.open(database, warnOfQueue(request));
  const identity = { worker, host: hostname(), pid: process.pid, lanes, version };
  try {
    await markSeen(database, identity);
    await planAll(database, served, schedule, clock.now());
    request.onReady();
    const programs = Array.from({ length: lanes }, (_, at) => describeProgram(request, scratch, at));
    await new Worker({
      settings,
      database,
      queue,
      identity,
      schedule,
      programs,
      readAccounts: rereadAccounts(request, database, served),
      clock,
      signal,
      onEvent,
    }).run();
  } finally {
    await queue.close();
  }
}

/** Adds accounts that are new, and moves those that wait for the schedule to its times as they are now. */
async function planAll(
  database: FleetDatabase,
  { names }: ServedAccounts,
  schedule: FleetSchedule,
  nowMs: number,
): Promise<void> {
  await addAccounts(database, names);
  const times = names.map((name) => nextTime(schedule, name, nowMs));
  await planAgain(database, {
    names,
    delaysMs: times.map((atMs) => (atMs === undefined ? undefined : atMs - nowMs)),
  });
}

/** The config, read again every half a minute; one that is broken by then does not end the worker. */
export function rereadAccounts(
  {
    readAccounts,
    clock,
    onEvent,
    onLook,
  }: Pick<WorkRequest, 'readAccounts' | 'clock' | 'onEvent' | 'onLook'>,
  database: FleetDatabase,
  first: ServedAccounts,
): () => Promise<ServedAccounts> {
  let served = first;
  let readAtMs = clock.monotonic();
  let problem: string | undefined;
  const say = (message: string) => onEvent({ type: 'warning', message });
  return async () => {
    onLook?.();
    if (clock.monotonic() - readAtMs < READ_EVERY_MS) return served;
    readAtMs = clock.monotonic();
    try {
      served = await readAccounts();
    } catch (thrown) {
      const message = thrown instanceof Error ? thrown.message : String(thrown);
      // It is read again all the time: what is wrong is said once.
      if (message !== problem)
        say(
          `the config cannot be read: ${message}. The worker keeps the accounts that it knows; their runs fail until the config is fixed`,
        );
      problem = message;
      return served;
    }
    if (problem !== undefined) say('the config can be read again');
    problem = undefined;
    await addAccounts(database, served.names);
    return served;
  };
}

function describeProgram(
  { config, onOutput }: WorkRequest,
  { own, extensions }: Scratch,
  at: number,
): LaneProgram {
  const args: LaneArguments = {
    config: config.path,
    scratch: join(own, `lane-${at}`),
    extensions,
    isFirst: at === 0,
  };
  return {
    // The built program, or its source.
    file: join(import.meta.dirname, '..', `lane-main${extname(import.meta.filename)}`),
    args: [JSON.stringify(args)],
    env: config.env,
    onOutput,
  };
}
