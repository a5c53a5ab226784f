import type { SyncOptions } from '../../model/settings.ts';
import {
  countOption,
  dateOption,
  durationOption,
  flagOption,
  listOption,
  patternOption,
} from '../options/option-kinds.ts';
import type { OptionValues } from '../options/resolve-values.ts';
import { RUN_ID, RUN_ID_PROBLEM } from '../../text/run-id.ts';
import { usageError } from '../options/usage-error.ts';

const what = 'What to sync:';
const limits = 'Limits:';
const safety = 'Safety:';

/** Options that say what a sync reads; `plan` takes them too. */
export const selectionOptions = {
  streams: listOption({
    flag: 'streams',
    summary: 'Only these streams, separated by commas',
    group: what,
    example: 'visibility_mentions,prompts_analytics',
    pattern: /^[a-z_][a-z0-9_]*$/,
    problem: 'must be stream names separated by commas',
  }),
  fullRefresh: flagOption({ flag: 'full-refresh', summary: 'Read everything again', group: what }),
  from: dateOption({
    flag: 'from',
    summary: 'Read from this date on instead of the watermark',
    group: what,
    example: '2026-01-31',
  }),
  limit: countOption({
    flag: 'limit',
    summary: 'Read at most this many rows of each stream',
    group: what,
    example: '1000',
  }),
  force: flagOption({
    flag: 'force',
    summary: 'Also sync streams that are still fresh',
    group: what,
  }),
} as const;

/** Options of `sync` alone. */
export const runOptions = {
  maxRequests: countOption({
    flag: 'max-requests',
    summary: 'Stop after this many requests (of each account), progress saved',
    group: limits,
    example: '100',
  }),
  maxWait: durationOption({
    flag: 'max-wait',
    summary: 'Wait this long for the quota, then stop with progress saved: 0, 30m, 6h (default 24h)',
    group: limits,
    example: '30m',
    allowsZero: true,
  }),
  deadline: durationOption({
    flag: 'deadline',
    summary: 'End the run after this time: 50m, 6h',
    group: limits,
    example: '50m',
    allowsZero: false,
  }),
  dryRun: flagOption({
    flag: 'dry-run',
    summary: 'Show the plan instead; at most one request per stream',
    group: safety,
  }),
  allowEmpty: flagOption({
    flag: 'allow-empty',
    summary: 'Accept a stream that had rows and now has none',
    group: safety,
  }),
  acceptNewKey: flagOption({
    flag: 'accept-new-key',
    summary: 'Continue with a new key that does not return the expected rows, and read everything again',
    group: safety,
  }),
  strict: flagOption({
    flag: 'strict',
    summary: 'Any warning fails the run (exit code 4)',
    group: safety,
  }),
  runId: patternOption({
    flag: 'run-id',
    valueName: 'id',
    summary: 'Name this run, e.g. after the job that starts it',
    group: safety,
    example: 'nightly-2026-01-31',
    pattern: RUN_ID,
    problem: RUN_ID_PROBLEM,
  }),
} as const;

/** The selection for the engine. Throws a usage error for options that contradict each other. */
export function toSelection(values: OptionValues<typeof selectionOptions>): SyncOptions {
  const { streams, fullRefresh, from, limit, force } = values;
  if (fullRefresh === true && from !== undefined) {
    throw usageError(
      '--full-refresh and --from cannot be combined',
      'Give one of them, e.g. --from 2026-01-31.',
    );
  }
  return {
    ...(streams !== undefined && { streams }),
    ...(fullRefresh !== undefined && { fullRefresh }),
    ...(from !== undefined && { from }),
    ...(limit !== undefined && { limit }),
    ...(force !== undefined && { force }),
  };
}

/** The limits and safety options of a run, for the engine. */
export function toRunOptions(values: OptionValues<typeof runOptions>): SyncOptions {
  const { maxRequests, maxWait, deadline, allowEmpty, acceptNewKey, strict, runId } = values;
  return {
    ...(maxRequests !== undefined && { maxRequests }),
    ...(maxWait !== undefined && { maxWaitMs: maxWait }),
    ...(deadline !== undefined && { deadlineMs: deadline }),
    ...(allowEmpty !== undefined && { allowEmpty }),
    ...(acceptNewKey !== undefined && { acceptNewKey }),
    ...(strict !== undefined && { strict }),
    ...(runId !== undefined && { runId }),
  };
}
