import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { readPublishedRecord } from '../../state/published-record.ts';
import { resolveLinks } from '../files/real-paths.ts';
import { type SyncError, toSyncError } from '../model/errors.ts';
import type { PublishedFault } from '../model/reports.ts';
import { assertWritable } from '../publish/assert-writable.ts';
import { REPUBLISH_FIX } from '../publish/published-file.ts';
import { listNames } from '../text/list-names.ts';
import { type AttachedAccount, findAccounts } from '../warehouse/attach-accounts.ts';
import { readSources } from './accounts-file.ts';
import { readLakeCommit } from './own-published.ts';
import { type JointPlaces, type JointTarget, listJointTargets } from './publish-joint.ts';

/**
 * What is wrong with the files that join all accounts: one that is missing, that a sync would not replace, or that lacks
 * what an account has published since. The rows are not read.
 */
export async function findJointFaults(places: JointPlaces): Promise<readonly PublishedFault[]> {
  const faults = await Promise.all(listJointTargets(places).map((target) => findFault(target, places)));
  return faults.flatMap((fault) => fault ?? []);
}

/** A file that joins all accounts, and why a sync could not write it. */
export interface TriedJoint {
  readonly path: string;
  readonly error: SyncError | undefined;
}

/** Whether a sync could write the files that join all accounts; nothing is written. */
export async function tryJoint(places: JointPlaces): Promise<readonly TriedJoint[]> {
  const tried: TriedJoint[] = [];
  for (const target of listJointTargets(places)) {
    const { file: path } = target;
    try {
      await readTarget(target, places);
      assertWritable({
        folder: dirname(resolveLinks(path)),
        what: 'the data of all accounts',
        instead: 'another path in the config',
        path,
      });
      tried.push({ path, error: undefined });
    } catch (thrown) {
      tried.push({ path, error: toSyncError(thrown) });
    }
  }
  return tried;
}

function readTarget({ kind, file }: JointTarget, { accounts, config }: JointPlaces) {
  return readSources(resolveLinks(file), { kind, accounts: accounts.map(({ name }) => name), config });
}

async function findFault(target: JointTarget, places: JointPlaces): Promise<PublishedFault | undefined> {
  const { file: path, data } = target;
  try {
    const { found } = findAccounts(data);
    if (!existsSync(path)) {
      if (found.length === 0) return undefined;
      const detail = `${path}, with the data of all accounts, is missing: readers find no data`;
      return { path, detail, fix: REPUBLISH_FIX };
    }
    const sources = (await readTarget(target, places)) ?? [];
    const held = new Map(sources.map(({ account, generation }) => [account, generation]));
    const behind = found.filter((one) => {
      const published = readGeneration(one);
      return published !== undefined && held.get(one.account) !== published;
    });
    if (behind.length === 0) return undefined;
    const names = listNames(behind.map(({ account }) => account));
    const detail = `${path}, with the data of all accounts, does not have what ${names} published last: it is written at the end of a sync`;
    return { path, detail, fix: REPUBLISH_FIX };
  } catch (thrown) {
    const { message, hint } = toSyncError(thrown);
    return { path, detail: message, fix: hint };
  }
}

/** The commit that readers of an account have; undefined where no small file says it. */
function readGeneration({ file, lake, stateDir }: AttachedAccount): string | undefined {
  if (lake !== undefined) return readLakeCommit(lake);
  const record = stateDir === undefined ? undefined : readPublishedRecord(stateDir);
  return record?.path === file ? record.generation : undefined;
}
