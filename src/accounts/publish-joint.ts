import type { AccountData } from '../model/account.ts';
import type { JointFile } from '../model/accounts-report.ts';
import type { Clock } from '../model/clock.ts';
import { ConfigError, toSyncError } from '../model/errors.ts';
import { type ReportedError, toReportedError } from '../model/run-report.ts';
import { listNames } from '../text/list-names.ts';
import { writeAccountsCatalog } from './accounts-catalog.ts';
import { publishCombined } from './combined-file.ts';

/** All accounts of a config, and what joins their data. */
export interface JointPlaces {
  readonly accounts: readonly { readonly name: string }[];
  /** Where readers find what each publishes; an account whose destination the config does not say is missing. */
  readonly data: readonly AccountData[];
  /** Absolute path of the file with all tables; undefined where the config names none. */
  readonly combined: string | undefined;
  /** Absolute path of the file with views over all lakes; undefined where they share no folder. */
  readonly catalog: string | undefined;
}

/** The files that join the accounts, and what kept one of them from being written. */
export interface JointResult {
  readonly files: readonly JointFile[];
  readonly error: ReportedError | undefined;
}

/** Writes the files that join all accounts, after their runs. What fails leaves the earlier files as they are. */
export async function publishJoint(
  joint: JointPlaces,
  options: { readonly clock: Clock; readonly signal?: AbortSignal | undefined },
): Promise<JointResult> {
  const files: JointFile[] = [];
  try {
    const { data } = joint;
    if (joint.catalog !== undefined) files.push(await writeAccountsCatalog(joint.catalog, data, options));
    if (joint.combined === undefined) return { files, error: undefined };
    refuseUnknown(joint);
    files.push(await publishCombined({ ...options, file: joint.combined, accounts: data }));
    return { files, error: undefined };
  } catch (thrown) {
    return { files, error: toReportedError(toSyncError(thrown)) };
  }
}

/** Without the paths of an account, the file would lose the rows that it has of it. */
function refuseUnknown({ accounts, data, combined = '' }: JointPlaces): void {
  const unknown = accounts.filter(({ name }) => !data.some(({ account }) => account === name));
  if (unknown.length === 0) return;
  throw new ConfigError(
    `${combined} was not replaced: where the data of ${listNames(unknown.map(({ name }) => name))} lies is not known`,
    {
      code: 'config_invalid',
      hint: 'Its rows would be missing in the file. Correct the destination of that account, and run again; the accounts themselves are synced.',
      context: { path: combined },
    },
  );
}
