import type { StreamReport } from '../model/run-report.ts';
import type { PipesContext } from './pipes-place.ts';
import type { SyncedAccount } from './synced-account.ts';

/** A scan of a run: of a stream, or of one slice of it. */
export interface SyncedScan {
  readonly account: string | undefined;
  readonly runId: string;
  /** Whether readers see what the run committed. */
  readonly isPublished: boolean;
  readonly report: StreamReport;
}

/** An asset of the step, and the scans whose rows it has. */
export interface SyncedAsset {
  /** As Dagster writes it in one text. */
  readonly key: string;
  readonly scans: readonly SyncedScan[];
}

/**
 * Which assets of a step have the rows of which scans. An asset has the name of a stream as the last part of its key,
 * with the account before it where it is about one; the only asset of a step has everything. Dagster fails a step that
 * reports an asset it does not have, so other streams are left out.
 */
export function chooseAssets(
  { assetKeys, assets }: Pick<PipesContext, 'assetKeys' | 'assets'>,
  accounts: readonly SyncedAccount[],
): readonly SyncedAsset[] {
  const scans = accounts.flatMap(listScans);
  const [only] = assetKeys;
  const chosen = Map.groupBy(scans, (scan) => findAsset(assetKeys, assets, scan));
  const found = [...chosen].flatMap(([key, own]) => (key === undefined ? [] : [{ key, scans: own }]));
  if (found.length > 0 || only === undefined || assetKeys.length > 1 || scans.length === 0) return found;
  return [{ key: only, scans }];
}

/** Names in `assets` of asset keys that the step does not have. */
export function findForeignAssets({
  assetKeys,
  assets,
}: Pick<PipesContext, 'assetKeys' | 'assets'>): readonly string[] {
  return [...new Set(Object.values(assets))].filter((key) => !assetKeys.includes(key));
}

function listScans({ account, report }: SyncedAccount): readonly SyncedScan[] {
  if (report === undefined) return [];
  const { runId, streams, error, published } = report;
  // The run's error is often a stream's; one of its own means that readers may not see what was committed.
  const isOfStream = streams.some((one) => one.error?.code === error?.code);
  // A signal stops a stream and the run with one error, and nothing is published.
  const isLeft = published === undefined && streams.some(hasChanged);
  const isPublished = error === undefined || (isOfStream && !isLeft);
  return streams.map((one) => ({ account, runId, isPublished, report: one }));
}

function hasChanged({ status, rows, schemaChanges }: StreamReport): boolean {
  const changes = rows.inserted + rows.updated + rows.deleted + schemaChanges.length;
  return status === 'complete' && changes > 0;
}

function findAsset(
  assetKeys: readonly string[],
  assets: Readonly<Record<string, string>>,
  { account, report: { stream } }: SyncedScan,
): string | undefined {
  const names = account === undefined ? [stream] : [`${account}/${stream}`, stream];
  const wanted = names.flatMap((name) => (Object.hasOwn(assets, name) ? (assets[name] ?? []) : []))[0];
  if (wanted !== undefined) return assetKeys.includes(wanted) ? wanted : undefined;
  for (const name of names) {
    const found = assetKeys.find((key) => key === name || key.endsWith(`/${name}`));
    if (found !== undefined) return found;
  }
  return undefined;
}
