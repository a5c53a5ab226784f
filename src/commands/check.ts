import type { AccountOfConfig } from '../model/account.ts';
import { type Clock, systemClock } from '../model/clock.ts';
import { formatDuration } from '../text/duration.ts';
import { formatCount, formatCountOf } from '../text/format-count.ts';
import { hintAfterRequests } from '../text/hint-after-requests.ts';
import type { Transport } from '../model/http.ts';
import type { ProgressEvent } from '../model/progress.ts';
import type { QuotaSnapshot } from '../model/quota.ts';
import type { CheckItem, CheckReport } from '../model/reports.ts';
import { toReportedError } from '../model/run-report.ts';
import type { Settings } from '../model/settings.ts';
import { listPublishers } from '../publish/registry.ts';
import { checkDisk } from './plan/estimate-disk.ts';
import { hideSecrets } from '../storage/hide-secrets.ts';
import { describeNetworkDisks } from '../storage/network-disk.ts';
import { openApi } from '../run/open-api.ts';
import { findMostUrgent } from '../sync/decide-exit-code.ts';
import { assertTargetIsOurs } from '../storage/open-warehouse.ts';
import { RELOAD } from '../text/reload-advice.ts';
import type { ReadDisk } from './plan/estimate-disk.ts';
import { checkEndpoints } from './check-endpoints.ts';
import { attempt, okItem, type Outcome, warningItem } from './check-outcome.ts';
import { checkPublished } from './check-published.ts';
import { checkStateFolder } from './check-state.ts';

export interface CheckOptions {
  /** The account of the config. */
  readonly ofAccount?: AccountOfConfig;
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
  readonly transport?: Transport | undefined;
  readonly readDisk?: ReadDisk | undefined;
}

/**
 * Tries everything a sync needs, with at most one request per stream, and names a fix for each failure. Stops at the
 * first 429 and at a rejected key: the next request would end the same way.
 */
export async function runChecks(settings: Settings, options: CheckOptions = {}): Promise<CheckReport> {
  const clock = options.clock ?? systemClock;
  const startedAtMs = clock.now();
  const found: Outcome[] = [
    { item: okItem('config', settings.configPath ?? 'given by the program'), error: undefined },
    ...settings.warnings.map((detail) => ({ item: warningItem('config', detail), error: undefined })),
    await attempt('state folder', async () => checkStateFolder(settings, startedAtMs, options.ofAccount)),
    ...describeNetworkDisks(settings).map((detail) => ({
      item: warningItem('state folder', detail),
      error: undefined,
    })),
    ...(await checkDestinations(settings)),
    await attempt('disk', async () => okItem('disk', await checkDisk(settings, options.readDisk))),
  ];
  const outcomes = adviseOnBoth(found);
  const told: ProgressEvent[] = [];
  const oneTry = { neverWaits: true, maxTries: 1, transport: options.transport };
  const api = await openApi(settings, oneTry, { clock, emit: (event) => told.push(event) });
  try {
    if (api.warning !== undefined)
      outcomes.push({ item: warningItem('quota', api.warning), error: undefined });
    const { source } = api;
    const asking = { settings, source, signal: options.signal, clock };
    // A key or source that the state refuses must not spend its quota.
    const refused = outcomes.find(({ error }) => error?.code === 'identity_mismatch')?.error;
    const endpoints = await checkEndpoints(asking, refused);
    const quota = await source.readQuota();
    const warnings = told.flatMap((event) =>
      event.type === 'warning' ? [warningItem('quota', event.message)] : [],
    );
    outcomes.push(...warnings.map((item) => ({ item, error: undefined })));
    outcomes.push(...describeKey(endpoints), ...describeQuota(quota, clock.now()), ...endpoints);
    const spent = source.client.usage.requests;
    const exitCode = decideCheckCode(outcomes, endpoints);
    const failures = outcomes.flatMap(({ error }) => error ?? []);
    const failed = failures.find((error) => error.exitCode === exitCode) ?? failures[0];
    return {
      ok: failed === undefined,
      exitCode,
      error:
        failed &&
        hideSecrets(settings, { ...toReportedError(failed), hint: hintAfterRequests(failed.hint, spent) }),
      items: hideSecrets(
        settings,
        outcomes.map(({ item }) => ({ ...item, fix: item.fix && hintAfterRequests(item.fix, spent) })),
      ),
      requestsSpent: spent,
      quota: quota.limit === undefined ? undefined : quota,
    };
  } finally {
    await api.close();
  }
}

/** State and published file repair each other, unless both are damaged. */
function adviseOnBoth(outcomes: readonly Outcome[]): Outcome[] {
  const isDamaged = ({ item, error }: Outcome) =>
    error?.code === 'state_damaged' && ['state folder', 'published file'].includes(item.name);
  if (outcomes.filter(isDamaged).length < 2) return [...outcomes];
  const fix = `Both are damaged: put a backup of the published file in its place. Without one, move both aside: ${RELOAD}`;
  return outcomes.map((one) => {
    const { item, error } = one;
    return isDamaged(one) ? { ...one, item: { ...item, fix }, error: error?.withHint(fix) } : one;
  });
}

async function checkDestinations(settings: Settings): Promise<readonly Outcome[]> {
  const outcome = await attempt('destination', async () => checkDestination(settings));
  return outcome.error === undefined ? [outcome, ...(await checkPublished(settings))] : [outcome];
}

async function checkDestination(settings: Settings): Promise<CheckItem> {
  await assertTargetIsOurs(settings);
  const destinations = listPublishers(settings);
  return okItem('destination', destinations.map(({ place, label = place }) => label).join(', '));
}

/** A key counts as accepted once any endpoint returned data; a rejected one fails at its endpoint. */
function describeKey(endpoints: readonly Outcome[]): readonly Outcome[] {
  const accepted = endpoints.some(({ item }) => item.status === 'ok');
  return accepted ? [{ item: okItem('key', 'accepted'), error: undefined }] : [];
}

function describeQuota({ limit, remaining, resetAtMs }: QuotaSnapshot, nowMs: number): readonly Outcome[] {
  if (limit === undefined || remaining === undefined || resetAtMs === undefined) return [];
  const reset = formatDuration(resetAtMs - nowMs);
  return [
    {
      item: okItem(
        'quota',
        `${formatCount(remaining)} of ${formatCountOf(limit, 'request')} left, resets in ${reset}`,
      ),
      error: undefined,
    },
  ];
}

function decideCheckCode(outcomes: readonly Outcome[], endpoints: readonly Outcome[]): number {
  const failures = outcomes.filter(({ error }) => error !== undefined);
  if (failures.length === 0) return 0;
  // A sync reads the other streams, and ends with 5.
  const works = endpoints.some(({ item }) => item.status === 'ok');
  if (works && failures.every(({ isGone }) => isGone)) return 5;
  return findMostUrgent(new Set(failures.flatMap(({ error }) => error?.exitCode ?? [])));
}
