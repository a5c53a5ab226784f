import type { Panel } from './panel.ts';

/** A row of the dashboard, which Grafana can fold. */
export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
  /** Folded at first: not everybody has what it shows. */
  readonly folded?: boolean;
}

const HOUR = 3_600;
const DAY = 24 * HOUR;

/** The filter of series that every account has; an account without a name has no label, which `.*` matches too. */
const account = '{account=~"$account"}';
const stream = (more = '') => `{account=~"$account", stream=~"$stream"${more}}`;
/** For a table, which joins series by all of their labels. */
const joined = (expr: string) => `max by (account, stream, slice) (${expr})`;
const nameStream = '{{account}} {{stream}} {{slice}}';

// 0 to 6 as docs/errors.md has them; the rest is tried again.
const exitCodes: Panel['words'] = {
  '0': ['complete', 'green'],
  '1': ['1 defect', 'red'],
  '2': ['2 config', 'red'],
  '3': ['3 key', 'red'],
  '4': ['4 source', 'red'],
  '5': ['5 some failed', 'orange'],
  '6': ['6 storage', 'red'],
  '75': ['75 later', 'yellow'],
  '130': ['130 stopped', 'yellow'],
  '143': ['143 stopped', 'yellow'],
};
const verdicts: Panel['words'] = {
  '1': ['verified', 'green'],
  '2': ['unverified', 'blue'],
  '3': ['drifted', 'orange'],
  '4': ['partial', 'red'],
};
const verdict = (name: string, number: number) =>
  `sluice_stream_verdict${stream(`, verdict="${name}"`)} * ${number}`;

const now: Row = {
  title: 'Now',
  panels: [
    {
      title: 'Oldest verified data',
      kind: 'stat',
      width: 4,
      unit: 's',
      limits: [26 * HOUR, 36 * HOUR],
      queries: [{ expr: `max(time() - sluice_stream_verified_timestamp_seconds${stream()})` }],
      empty: 'never',
      description: 'How long ago the verified scan of the stream began that is verified least recently.',
    },
    {
      title: 'Streams drifted or partial',
      kind: 'stat',
      width: 4,
      limits: [1, 2],
      queries: [
        {
          expr: `count(sluice_stream_verdict${stream(', verdict=~"drifted|partial"')} == 1) or vector(0)`,
        },
      ],
    },
    {
      title: 'Last run',
      kind: 'stat',
      width: 4,
      words: exitCodes,
      queries: [{ expr: `max(sluice_last_run_exit_code${account})` }],
      empty: 'none yet',
      description: 'The highest exit code of all accounts that are selected.',
    },
    {
      title: 'Quota left',
      kind: 'gauge',
      width: 4,
      unit: 'percentunit',
      limits: [0.25, 0.05],
      queries: [
        {
          expr:
            `min((sluice_quota_remaining_requests${account} and sluice_quota_reset_timestamp_seconds${account} > time()` +
            ` or sluice_quota_limit_requests${account}) / sluice_quota_limit_requests${account})`,
        },
      ],
      description: 'Of the account that has least. All of it is there again once its window has ended.',
    },
    {
      title: 'Quota resets in',
      kind: 'stat',
      width: 4,
      unit: 's',
      queries: [{ expr: `clamp_min(max(sluice_quota_reset_timestamp_seconds${account}) - time(), 0)` }],
      empty: 'unknown',
    },
    {
      title: 'Key expires in',
      kind: 'stat',
      width: 4,
      unit: 's',
      limits: [14 * DAY, 2 * DAY],
      queries: [{ expr: `min(sluice_key_expiry_timestamp_seconds${account}) - time()` }],
      empty: 'not set',
    },
    {
      title: 'Run in progress for',
      kind: 'stat',
      width: 4,
      unit: 's',
      limits: [6 * HOUR, 20 * HOUR],
      queries: [{ expr: 'max(time() - sluice_run_start_timestamp_seconds)' }],
      empty: 'no run',
    },
    {
      title: 'Waits for another',
      kind: 'stat',
      width: 4,
      unit: 's',
      queries: [{ expr: 'max(sluice_waiting_until_timestamp_seconds - time())' }],
      empty: 'no wait',
    },
    {
      title: 'Next run in',
      kind: 'stat',
      width: 4,
      unit: 's',
      queries: [{ expr: 'min(sluice_next_run_timestamp_seconds - time())' }],
      empty: 'no schedule',
    },
    {
      title: 'Outage for',
      kind: 'stat',
      width: 4,
      unit: 's',
      limits: [60, 2 * HOUR],
      queries: [{ expr: 'max(time() - sluice_outage_since_timestamp_seconds)' }],
      empty: 'none',
    },
    {
      title: 'Last success',
      kind: 'stat',
      width: 4,
      unit: 's',
      limits: [26 * HOUR, 36 * HOUR],
      queries: [{ expr: `max(time() - sluice_last_success_timestamp_seconds${account})` }],
      empty: 'never',
      description: 'How long ago the last run with exit code 0 ended, of the account where that is longest.',
    },
    {
      title: 'Versions',
      kind: 'stat',
      width: 4,
      queries: [{ expr: 'count by (version) (sluice_build_info)', legend: '{{version}}' }],
      empty: 'not seen',
    },
  ],
};

const data: Row = {
  title: 'Freshness and verdicts',
  panels: [
    {
      title: 'Streams',
      kind: 'table',
      width: 24,
      queries: [
        {
          expr: joined(`time() - sluice_stream_verified_timestamp_seconds${stream()}`),
          column: 'Verified, time ago',
        },
        {
          expr: joined(`time() - sluice_stream_watermark_timestamp_seconds${stream()}`),
          column: 'Read up to, time ago',
        },
        {
          expr: joined(`time() - sluice_stream_newest_data_timestamp_seconds${stream()}`),
          column: 'Last new data, time ago',
        },
        { expr: joined(`sluice_stream_data_stale${stream()}`), column: 'Source stands' },
        { expr: joined(`sluice_stream_rows${stream()}`), column: 'Rows' },
        { expr: joined(`sluice_stream_api_rows${stream()}`), column: 'Rows of the API' },
        { expr: joined(`sluice_stream_rows_difference${stream()}`), column: 'Difference' },
        { expr: joined(`sluice_stream_full_refresh_due${stream()}`), column: 'Full refresh due' },
      ],
    },
    {
      title: 'Age of verified data',
      kind: 'timeseries',
      width: 12,
      unit: 's',
      queries: [{ expr: `time() - sluice_stream_verified_timestamp_seconds${stream()}`, legend: nameStream }],
    },
    {
      title: 'Verdicts',
      kind: 'timeline',
      width: 12,
      words: verdicts,
      queries: [
        {
          expr:
            'sum by (account, stream, slice) ' +
            `(${verdict('verified', 1)} or ${verdict('unverified', 2)} or ${verdict('drifted', 3)} or ${verdict('partial', 4)})`,
          legend: nameStream,
        },
      ],
    },
  ],
};

const rows: Row = {
  title: 'Rows',
  panels: [
    {
      title: 'Rows in tables',
      kind: 'timeseries',
      width: 8,
      queries: [{ expr: `sluice_stream_rows${stream()}`, legend: nameStream }],
    },
    {
      title: 'Rows changed within a day',
      kind: 'bars',
      width: 8,
      stacked: true,
      queries: [
        { expr: `sum(increase(sluice_rows_inserted_total${stream()}[1d]))`, legend: 'inserted' },
        { expr: `sum(increase(sluice_rows_updated_total${stream()}[1d]))`, legend: 'updated' },
        { expr: `sum(increase(sluice_rows_deleted_total${stream()}[1d]))`, legend: 'deleted' },
      ],
    },
    {
      title: 'Records quarantined within a day',
      kind: 'bars',
      width: 8,
      stacked: true,
      queries: [{ expr: `increase(sluice_rows_quarantined_total${stream()}[1d])`, legend: nameStream }],
    },
    {
      title: 'Records read within a day',
      kind: 'bars',
      width: 12,
      stacked: true,
      queries: [{ expr: `increase(sluice_rows_read_total${stream()}[1d])`, legend: nameStream }],
    },
    {
      title: 'Rows that the API has and the tables have not',
      kind: 'timeseries',
      width: 12,
      queries: [{ expr: `sluice_stream_rows_difference${stream()}`, legend: nameStream }],
    },
  ],
};

const runs: Row = {
  title: 'Runs',
  panels: [
    {
      title: 'Exit code of the last run',
      kind: 'timeline',
      width: 12,
      words: exitCodes,
      queries: [{ expr: `sluice_last_run_exit_code${account}`, legend: 'last run {{account}}' }],
    },
    {
      title: 'Duration of the last run',
      kind: 'timeseries',
      width: 12,
      unit: 's',
      queries: [{ expr: `sluice_last_run_duration_seconds${account}`, legend: 'last run {{account}}' }],
    },
    {
      title: 'Runs within a day, by exit code',
      kind: 'bars',
      width: 12,
      stacked: true,
      queries: [
        {
          expr: `sum by (exit_code) (increase(sluice_runs_total${account}[1d])) > 0`,
          legend: 'exit code {{exit_code}}',
        },
      ],
    },
    {
      title: 'Status of the last run',
      kind: 'bars',
      width: 6,
      stacked: true,
      queries: [{ expr: `sum by (status) (sluice_last_run_status${account})`, legend: '{{status}}' }],
    },
    {
      title: 'Times of the schedule skipped',
      kind: 'timeseries',
      width: 6,
      queries: [{ expr: 'sum(sluice_skipped_ticks_total)', legend: 'skipped since the start' }],
    },
  ],
};

const requests: Row = {
  title: 'Quota, waits and retries',
  panels: [
    {
      title: 'Quota',
      kind: 'timeseries',
      width: 12,
      queries: [
        { expr: `sluice_quota_remaining_requests${account}`, legend: 'left {{account}}' },
        { expr: `sluice_quota_limit_requests${account}`, legend: 'limit {{account}}' },
      ],
    },
    {
      title: 'Requests within a day',
      kind: 'timeseries',
      width: 6,
      queries: [
        { expr: `sum(increase(sluice_requests_total${account}[1d]))`, legend: 'requests' },
        { expr: `sum(increase(sluice_retries_total${account}[1d]))`, legend: 'retries' },
        { expr: `sum(increase(sluice_rate_limited_total${account}[1d]))`, legend: 'answers with 429' },
      ],
    },
    {
      title: 'Time waited within a day',
      kind: 'timeseries',
      width: 6,
      unit: 's',
      queries: [
        { expr: `increase(sluice_waited_seconds_total${account}[1d])`, legend: 'waited {{account}}' },
      ],
    },
  ],
};

const fleet: Row = {
  title: 'Fleet',
  folded: true,
  panels: [
    {
      title: 'Accounts failed',
      kind: 'stat',
      width: 6,
      limits: [1, 2],
      queries: [{ expr: 'max(sluice_fleet_accounts_failed)' }],
      empty: 'no fleet',
    },
    {
      title: 'Longest wait for a lane',
      kind: 'stat',
      width: 6,
      unit: 's',
      limits: [15 * 60, HOUR],
      queries: [{ expr: 'max(sluice_fleet_oldest_due_seconds)' }],
      empty: 'no fleet',
    },
    {
      title: 'Leases lost now',
      kind: 'stat',
      width: 6,
      limits: [1, 2],
      queries: [{ expr: 'max(sluice_fleet_accounts{state="lost"})' }],
      empty: 'no fleet',
    },
    {
      title: 'Lanes busy',
      kind: 'gauge',
      width: 6,
      unit: 'percentunit',
      queries: [{ expr: 'max(sluice_fleet_lanes_busy) / (max(sluice_fleet_lanes) > 0)' }],
      empty: 'no lanes',
    },
    {
      title: 'Accounts by state',
      kind: 'timeseries',
      width: 12,
      stacked: true,
      queries: [{ expr: 'max by (state) (sluice_fleet_accounts)', legend: '{{state}}' }],
    },
    {
      title: 'Workers by state',
      kind: 'timeseries',
      width: 6,
      stacked: true,
      queries: [{ expr: 'max by (state) (sluice_fleet_workers)', legend: '{{state}}' }],
    },
    {
      title: 'Runs of the last day, by exit code',
      kind: 'bars',
      width: 6,
      stacked: true,
      queries: [{ expr: 'max by (exit_code) (sluice_fleet_runs_last_day)', legend: '{{exit_code}}' }],
    },
    {
      title: 'Accounts without a clean run for longest',
      kind: 'timeseries',
      width: 12,
      unit: 's',
      queries: [
        {
          expr: `topk(10, max by (account) (sluice_fleet_account_clean_age_seconds${account}))`,
          legend: '{{account}}',
        },
      ],
    },
    {
      title: 'Requests, 429s and rows changed in the last day',
      kind: 'timeseries',
      width: 12,
      queries: [
        { expr: 'max(sluice_fleet_requests_last_day)', legend: 'requests' },
        { expr: 'max(sluice_fleet_rate_limited_last_day)', legend: 'answers with 429' },
        { expr: 'max(sluice_fleet_rows_changed_last_day)', legend: 'rows changed' },
      ],
    },
  ],
};

/** What the dashboard shows, from what matters first to what only a fleet has. */
export const dashboardRows: readonly Row[] = [now, data, rows, runs, requests, fleet];
