import type { AccountData } from '../model/account.ts';
import type { JointFile } from '../model/accounts-report.ts';
import type { Clock } from '../model/clock.ts';
import { toSyncError } from '../model/errors.ts';
import { type ReportedError, toReportedError } from '../model/run-report.ts';
import { writeAccountsCatalog } from './accounts-catalog.ts';
import { publishCombined } from './combined-file.ts';
import { refuseUnknown } from './refuse-unknown.ts';

/** All accounts of a config, and the files that join their data. */
export interface JointPlaces {
  readonly accounts: readonly { readonly name: string }[];
  /** Where readers find each account's data; accounts without a known destination are left out. */
  readonly data: readonly AccountData[];
  /** Absolute path of the file with all tables; undefined where the config names none. */
  readonly combined: string | undefined;
  /** Absolute path of the file with views over all lakes; undefined where they share no folder. */
  readonly catalog: string | undefined;
  /** Identifies this config: its path, or that of its state folders. */
  readonly config?: string | undefined;
}

/** The files that join the accounts, and the error if one could not be written. */
export interface JointResult {
  readonly files: readonly JointFile[];
  readonly error: ReportedError | undefined;
}

/**
 * Writes the files that join all accounts, after their runs. Never throws: if one fails, its earlier file stays, and
 * the other one is still written.
 */
export async function publishJoint(
  { accounts, data, combined, catalog, config }: JointPlaces,
  options: { readonly clock: Clock; readonly signal?: AbortSignal | undefined },
): Promise<JointResult> {
  const names = accounts.map(({ name }) => name);
  const lakes = data.filter(({ lake }) => lake !== undefined);
  const how = { ...options, config };
  const tries = [
    { file: catalog, data: lakes, write: (file: string) => writeAccountsCatalog(file, lakes, how) },
    {
      file: combined,
      data,
      write: (file: string) => publishCombined({ ...how, file, accounts: data }),
    },
  ];
  const files: JointFile[] = [];
  const errors: ReportedError[] = [];
  for (const { file, data: known, write } of tries) {
    if (file === undefined) continue;
    try {
      refuseUnknown(names, known, `${file} was not replaced`);
      files.push(await write(file));
    } catch (thrown) {
      errors.push(toReportedError(toSyncError(thrown)));
    }
  }
  return { files, error: joinErrors(errors) };
}

/** Joins two errors; the first decides the code. */
function joinErrors(errors: readonly ReportedError[]): ReportedError | undefined {
  const [first, ...others] = errors;
  if (first === undefined || others.length === 0) return first;
  return {
    ...first,
    message: [...new Set(errors.map(({ message }) => message))].join('; '),
    hint: [...new Set(errors.map(({ hint }) => hint))].join(' '),
  };
}
