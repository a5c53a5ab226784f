import type {
  FleetAccount,
  FleetAccountState,
  FleetRunCounts,
  FleetStatus,
  FleetWorker,
} from '../../model/fleet-report.ts';
import type { ReportedError } from '../../model/run-report.ts';
import type { FleetDatabase, Row } from './sql.ts';

/** Reads what a fleet is doing. `known` are the accounts of the config. */
export async function readFleet(
  database: FleetDatabase,
  { known, leaseMs }: { readonly known: readonly string[]; readonly leaseMs: number },
): Promise<FleetStatus> {
  return database.transaction(async (sql) => {
    await sql.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const [clock] = await sql.query(`SELECT ${ms('transaction_timestamp()')} AS now`);
    const nowMs = Number(clock?.['now']);
    const accounts = await sql.query(
      `SELECT account, token, holder, failures, object, last_run_id, last_exit_code, last_error,
         paused_at IS NOT NULL AS is_paused, ${ACCOUNT_TIMES.map((name) => `${ms(name)} AS ${name}`).join(', ')}
       FROM sluice_fleet.accounts ORDER BY account`,
    );
    const workers = await sql.query(
      `SELECT worker, host, pid, lanes, version, ${ms('w.started_at')} AS started_at, ${ms('seen_at')} AS seen_at,
         stopped_at IS NOT NULL AS is_stopped,
         (SELECT count(*) FROM sluice_fleet.accounts WHERE holder = worker AND lease_until >= transaction_timestamp()) AS running
       FROM sluice_fleet.workers AS w WHERE seen_at > transaction_timestamp() - interval '1 day' ORDER BY host, w.started_at`,
    );
    const runs = await sql.query(
      `SELECT CASE WHEN status = 'lost' THEN 'lost' ELSE coalesce(exit_code::text, '1') END AS ended,
         count(*) AS runs, sum(requests) AS requests, sum(rate_limited) AS rate_limited, sum(rows_read) AS rows_read,
         sum(rows_changed) AS rows_changed
       FROM sluice_fleet.runs WHERE finished_at > transaction_timestamp() - interval '1 day' GROUP BY 1 ORDER BY 1`,
    );
    return {
      database: database.place,
      now: new Date(nowMs).toISOString(),
      accounts: accounts.map((row) => readAccount(row, nowMs, known)),
      workers: workers.map((row) => readWorker(row, nowMs, leaseMs)),
      lastDay: countRuns(runs),
    };
  });
}

const ACCOUNT_TIMES = [
  'lease_until',
  'started_at',
  'next_at',
  'last_started_at',
  'last_ended_at',
  'last_clean_at',
] as const;

/** A time as epoch ms. */
function ms(time: string): string {
  return `(extract(epoch FROM ${time}) * 1000)::float8`;
}

function readAccount(row: Row, nowMs: number, known: readonly string[]): FleetAccount {
  const account = String(row['account']);
  return {
    account,
    state: findState(row, nowMs),
    isPaused: row['is_paused'] === true,
    isInConfig: known.includes(account),
    worker: readText(row['holder']),
    leaseUntil: readTime(row['lease_until']),
    startedAt: readTime(row['started_at']),
    nextAt: readTime(row['next_at']),
    lastRunId: readText(row['last_run_id']),
    lastExitCode: (row['last_exit_code'] as number | null) ?? undefined,
    lastStartedAt: readTime(row['last_started_at']),
    lastEndedAt: readTime(row['last_ended_at']),
    lastCleanAt: readTime(row['last_clean_at']),
    failures: Number(row['failures']),
    lastError: (row['last_error'] as ReportedError | null) ?? undefined,
    token: Number(row['token']),
    object: readText(row['object']),
  };
}

function findState(row: Row, nowMs: number): FleetAccountState {
  if (row['holder'] !== null) return Number(row['lease_until']) >= nowMs ? 'running' : 'lost';
  if (row['is_paused'] === true) return 'paused';
  if (row['next_at'] === null) return 'idle';
  if (Number(row['next_at']) <= nowMs) return 'due';
  if (Number(row['failures']) > 0) return 'retrying';
  return row['last_exit_code'] === 75 || row['last_exit_code'] === 5 ? 'deferred' : 'scheduled';
}

function readWorker(row: Row, nowMs: number, leaseMs: number): FleetWorker {
  const isSeen = nowMs - Number(row['seen_at']) <= leaseMs;
  return {
    worker: String(row['worker']),
    host: String(row['host']),
    pid: Number(row['pid']),
    lanes: Number(row['lanes']),
    running: Number(row['running']),
    version: String(row['version']),
    startedAt: readTime(row['started_at']) ?? '',
    seenAt: readTime(row['seen_at']) ?? '',
    state: row['is_stopped'] === true ? 'stopped' : isSeen ? 'working' : 'gone',
  };
}

function countRuns(rows: readonly Row[]): FleetRunCounts {
  const sum = (name: string) => rows.reduce((total, row) => total + Number(row[name] ?? 0), 0);
  return {
    runs: sum('runs'),
    byExitCode: Object.fromEntries(rows.map(({ ended, runs }) => [String(ended), Number(runs)])),
    requests: sum('requests'),
    rateLimited: sum('rate_limited'),
    rowsRead: sum('rows_read'),
    rowsChanged: sum('rows_changed'),
  };
}

function readText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function readTime(value: unknown): string | undefined {
  return typeof value === 'number' ? new Date(value).toISOString() : undefined;
}
