import type { FleetAccount, FleetStatus, FleetWorker } from '../../src/model/fleet-report.ts';

export const FLEET_NOW = '2026-11-25T06:00:00.000Z';

/** A time so many seconds before `FLEET_NOW`; a negative one is after it. */
export const secondsAgo = (seconds: number) =>
  new Date(Date.parse(FLEET_NOW) - seconds * 1_000).toISOString();

/** An account that waits for the schedule after a clean run. */
export function makeFleetAccount(account: string, more: Partial<FleetAccount> = {}): FleetAccount {
  return {
    account,
    state: 'scheduled',
    isPaused: false,
    isInConfig: true,
    worker: undefined,
    leaseUntil: undefined,
    startedAt: undefined,
    nextAt: secondsAgo(-3_600),
    lastRunId: 'run-1',
    lastExitCode: 0,
    lastStartedAt: secondsAgo(3_700),
    lastEndedAt: secondsAgo(3_600),
    lastCleanAt: secondsAgo(3_600),
    failures: 0,
    lastError: undefined,
    token: 3,
    object: `${account}/3-1.state`,
    ...more,
  };
}

/** An account whose last run failed, and is tried again. */
export function makeFailedAccount(account: string, message = 'the store is away'): FleetAccount {
  return makeFleetAccount(account, {
    state: 'retrying',
    nextAt: secondsAgo(-15),
    lastExitCode: 6,
    failures: 1,
    lastError: { code: 'storage_failed', message, hint: 'Start it.', exitCode: 6 },
  });
}

/** A worker with two of four lanes busy. */
export function makeFleetWorker(worker: string, more: Partial<FleetWorker> = {}): FleetWorker {
  return {
    worker,
    host: 'host-1',
    pid: 1,
    lanes: 4,
    running: 2,
    version: '0.1.0',
    startedAt: secondsAgo(9_000),
    seenAt: secondsAgo(5),
    state: 'working',
    ...more,
  };
}

/** A fleet with these accounts, without workers and runs. */
export function makeFleetStatus(
  accounts: readonly FleetAccount[],
  more: Partial<FleetStatus> = {},
): FleetStatus {
  return {
    database: 'postgres://db.example.com/fleet',
    now: FLEET_NOW,
    accounts,
    workers: [],
    lastDay: { runs: 0, byExitCode: {}, requests: 0, rateLimited: 0, rowsRead: 0, rowsChanged: 0 },
    ...more,
  };
}
