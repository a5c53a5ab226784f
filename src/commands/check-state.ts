import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { lockStateFolder } from '../../state/lock.ts';
import { readMeta, readSchemaVersion, schemaVersion } from '../../state/migrations.ts';
import { assertIdentity } from '../../state/owner.ts';
import { proveState } from '../../state/prove-state.ts';
import { workFile } from '../../state/work-file.ts';
import type { AccountOfConfig } from '../model/account.ts';
import { LockedError, toSyncError } from '../model/errors.ts';
import type { CheckItem } from '../model/reports.ts';
import type { Settings } from '../model/settings.ts';
import { assertOwnLineage } from '../storage/assert-lineage.ts';
import { describeIdentity, type Identity, judgeIdentity } from '../storage/identity.ts';
import { refuseKeyOfOther } from '../storage/other-accounts.ts';
import { lookForRestore } from '../storage/restore-work-file.ts';
import { checkReadable } from '../warehouse/check-readable.ts';
import { Database } from '../warehouse/database.ts';
import { OutdatedFileError } from '../warehouse/database-errors.ts';
import { okItem, warningItem } from './check-outcome.ts';

/**
 * Opens the state as a sync does, and writes nothing.
 *
 * @throws SyncError for what a sync refuses, or what nothing can repair
 */
export async function checkStateFolder(
  settings: Settings,
  nowMs: number,
  ofAccount: AccountOfConfig | undefined,
): Promise<CheckItem> {
  try {
    const lock = await lockStateFolder(settings.stateDir, new Date(nowMs).toISOString());
    try {
      const warning = await tryWorkFile(settings, ofAccount);
      return warning ?? okItem('state folder', settings.stateDir);
    } finally {
      await lock.release();
    }
  } catch (error) {
    // A run in progress is not a setup error.
    if (error instanceof LockedError) return warningItem('state folder', error.message);
    throw error;
  }
}

/** Notes of the next sync about a valid state. */
async function tryWorkFile(
  settings: Settings,
  ofAccount: AccountOfConfig | undefined,
): Promise<CheckItem | undefined> {
  const { stateDir } = settings;
  const file = workFile(stateDir);
  const assertOwn = (identity: Pick<Identity, 'key' | 'isBlank'>) =>
    refuseKeyOfOther(settings, identity, { ofAccount });
  const assertBlank = () => assertOwn({ key: 'unknown', isBlank: true });
  if (!existsSync(file)) {
    assertBlank();
    if ((await lookForRestore(settings)).hasArchive !== true) return undefined;
    const detail = `there is no state in ${stateDir}, but an archive: sluice rebuild loads it without a request`;
    return warningItem('state folder', detail);
  }
  const database = await Database.open({ file, folders: [dirname(file)] });
  try {
    const version = await readSchemaVersion(database, file);
    // A file that no run has prepared yet has nothing to compare.
    if (version === 0) {
      assertBlank();
      return undefined;
    }
    assertIdentity(await readMeta(database), settings);
    const identity = await judgeIdentity(settings, database, {});
    assertOwn(identity);
    if (identity.isBlank) return undefined;
    // The tables of an older version have other columns: the next sync changes them first.
    const outdated = version === schemaVersion ? await proveWhole(settings, database) : undefined;
    if (outdated !== undefined) return outdated;
    const said = describeIdentity(identity);
    return said === undefined ? undefined : warningItem('state folder', said);
  } finally {
    await database.release();
  }
}

/** A warning about a state that the next sync replaces by what is published; undefined for a current one. */
async function proveWhole(settings: Settings, database: Database): Promise<CheckItem | undefined> {
  await proveState(database, database.file);
  await checkReadable(database, '_sluice');
  try {
    await assertOwnLineage(settings, database);
    return undefined;
  } catch (error) {
    if (error instanceof OutdatedFileError)
      return { ...warningItem('state folder', error.message), fix: error.hint };
    if (toSyncError(error).code === 'publish_refused') throw error;
    // A destination that cannot be reached has a line of its own.
    return undefined;
  }
}
