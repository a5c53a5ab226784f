import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { readDestinationRecord } from '../../state/destination-record.ts';
import { isRunUnderWay } from '../../state/lock.ts';
import { readPublishedRecord } from '../../state/published-record.ts';
import { readRunFile } from '../../state/run-file.ts';
import { workFile } from '../../state/work-file.ts';
import { resolveLinks } from '../files/real-paths.ts';
import type { AccountData } from '../model/account.ts';
import { LockedError, PublishError, StorageError } from '../model/errors.ts';
import { LAKE_CATALOG, LAKE_MANIFEST } from '../model/lake.ts';
import type { RunReport } from '../model/run-report.ts';
import type { SqlSession } from '../model/sql.ts';
import { readFileLineage, toRunId } from '../publish/lineage.ts';
import type { Lineage } from '../publish/publisher.ts';
import { compareLineages } from '../storage/assert-lineage.ts';
import type { AttachedAccount } from '../warehouse/attach-accounts.ts';
import { readAccountMeta } from './accounts-file.ts';

/**
 * Rejects an account that has published before and whose file is missing: its rows would be missing without a word.
 *
 * @param known accounts known from elsewhere to have published
 * @throws StorageError (6) naming the first
 */
export function refuseLost(absent: readonly AccountData[], known: readonly string[] = []): void {
  const lost = absent.find((one) => known.includes(one.account) || hasPublished(one));
  if (lost === undefined) return;
  const { account, readersFile: path, stateDir } = lost;
  const state = stateDir === undefined ? '' : `, and its state in ${stateDir} is unaffected`;
  throw new StorageError(`account ${account}: ${path} was published before and is missing`, {
    code: 'state_damaged',
    hint: `Its rows would be missing. Put it back (is a disk not mounted, or a folder moved?), or run \`sluice sync --accounts ${account}\`, which publishes it again from the state folder. To continue without this account, remove it from the config; a query can name the others with --accounts. Nothing was changed${state}.`,
    context: { path },
  });
}

/** Whether a state folder or a lake has a record of something published. */
function hasPublished({ account, lake, stateDir, readersFile }: AccountData): boolean {
  if (lake !== undefined && readLakeCommit(lake) !== undefined) return true;
  if (stateDir === undefined) return false;
  assertReadable(account, stateDir);
  const hasFile = readPublishedRecord(stateDir) !== undefined;
  const runs = readRunFile(stateDir);
  const isOfLake = lake !== undefined && readersFile === join(lake, LAKE_CATALOG);
  // The state may have published to a file long before the config named a lake.
  if (hasFile && isOfLake) return runs.some(({ published }) => published?.lake !== undefined);
  return hasFile || runs.some(showsPublished);
}

/** A run that ended well has published, or found everything published. */
function showsPublished({ published, error, status, streams }: RunReport): boolean {
  if (published !== undefined) return true;
  const isDone = streams.some((stream) => stream.status === 'complete' || stream.status === 'fresh');
  return isDone && error === undefined && (status === 'complete' || status === 'partial');
}

const manifestSchema = z.object({ commit: z.string().optional() });

/** The commit that a lake has, by its manifest; undefined without one that can be read. */
export function readLakeCommit(lake: string): string | undefined {
  try {
    const text = readFileSync(join(lake, LAKE_MANIFEST), 'utf8');
    return manifestSchema.parse(JSON.parse(text)).commit;
  } catch {
    return undefined;
  }
}

/** The records of a folder that may not be read count as missing. */
function assertReadable(account: string, stateDir: string): void {
  try {
    accessSync(stateDir, constants.R_OK | constants.X_OK);
  } catch (cause) {
    if (['ENOENT', 'ENOTDIR'].includes((cause as NodeJS.ErrnoException).code ?? '')) return;
    throw new StorageError(
      `account ${account}: ${stateDir} cannot be read, so it is not known whether anything was published`,
      {
        code: 'state_damaged',
        hint: 'Fix the permissions of the folder or the disk, and run again; nothing was changed.',
        context: { path: stateDir },
        cause,
      },
    );
  }
}

/**
 * Rejects a file that was published from the state of another account, e.g. after two files were swapped, with or without
 * their state folders: its rows would count as rows of this account. The work file is opened only where the small
 * files do not know the commit, and not while a run has it open.
 *
 * @param all all known accounts, including those without a file here
 * @throws PublishError (2) naming the account, the file and, where it is known, whose it is
 */
export async function refuseForeign(
  session: SqlSession,
  accounts: readonly AttachedAccount[],
  all: readonly Pick<AccountData, 'account' | 'stateDir'>[],
): Promise<void> {
  for (const one of accounts) {
    refuseMoved(one, all);
    const meta = await readAccountMeta(session, one.prefix);
    const generation = meta.find(([key]) => key === 'generation')?.[1];
    const { stateDir } = one;
    if (generation === undefined || stateDir === undefined) continue;
    if (readPublishedRecord(stateDir)?.generation === generation) continue;
    const owner = accounts.find(
      (other) =>
        other !== one &&
        other.stateDir !== undefined &&
        readPublishedRecord(other.stateDir)?.generation === generation,
    );
    if (owner !== undefined) throw describeForeign(one, `is the published file of ${owner.account}`);
    const runs = await readRuns(session, one.prefix);
    if (!(await isOwn(stateDir, { generation, runs })))
      throw describeForeign(
        one,
        `was not published from its state folder ${stateDir} (run ${toRunId(generation)})`,
      );
  }
}

/** All files of another account may be in the places of this one. A renamed account counts as itself after its next sync. */
function refuseMoved(one: AttachedAccount, all: readonly Pick<AccountData, 'account' | 'stateDir'>[]): void {
  const { account, file, stateDir } = one;
  const recorded = stateDir === undefined ? undefined : readDestinationRecord(stateDir)?.stateDir;
  if (stateDir === undefined || recorded === undefined || recorded === resolveLinks(stateDir)) return;
  const owner = all.find(
    (other) => other.stateDir !== undefined && resolveLinks(other.stateDir) === recorded,
  );
  if (owner === undefined) return;
  throw new PublishError(
    `account ${account}: ${file} was published by ${owner.account}, whose state folder was moved to ${stateDir}`,
    {
      code: 'publish_refused',
      hint: `Its rows would count as those of ${account}. Put the folders and files of each account back in their places. Where ${owner.account} was renamed to ${account}, run \`sluice sync --accounts ${account}\` first. Nothing was changed.`,
      context: { path: file },
      exitCode: 2,
    },
  );
}

async function readRuns(session: SqlSession, prefix: string): Promise<Lineage['runs']> {
  const rows = await session.all(`SELECT run_id, epoch_ms(started_at) AS ms FROM ${prefix}_sluice.runs`);
  return new Map(rows.map((row) => [String(row['run_id']), Number(row['ms'])]));
}

/** Whether a state knows a commit. Without a state it counts as known: the next sync restores the state from it. */
async function isOwn(
  stateDir: string,
  published: Lineage & { readonly generation: string },
): Promise<boolean> {
  const runId = toRunId(published.generation);
  const startedMs = published.runs.get(runId);
  // Accounts that are synced with one --run-id share the id, but not the time.
  const knows = (run: RunReport) => run.runId === runId && Date.parse(run.startedAt) === startedMs;
  if (readRunFile(stateDir).some(knows)) return true;
  const file = workFile(stateDir);
  if (!existsSync(file) || isRunUnderWay(stateDir)) return true;
  try {
    const work = await readFileLineage(file);
    return work.generation === undefined || compareLineages(work, published) !== 'other';
  } catch (error) {
    // A run has just begun.
    if (error instanceof LockedError) return true;
    throw error;
  }
}

function describeForeign({ account, file }: AttachedAccount, why: string): PublishError {
  return new PublishError(`account ${account}: ${file} ${why}`, {
    code: 'publish_refused',
    hint: `Its rows would count as those of ${account}. Put the file of each account back in its place, or move this one away and run \`sluice sync --accounts ${account}\`, which publishes it again. Nothing was changed.`,
    context: { path: file },
    exitCode: 2,
  });
}
