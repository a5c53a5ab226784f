import type { AccountData } from '../model/account.ts';
import type { JointFile } from '../model/accounts-report.ts';
import type { Clock } from '../model/clock.ts';
import { toSyncError } from '../model/errors.ts';
import { type ReportedError, toReportedError } from '../model/run-report.ts';
import { writeAccountsCatalog } from './accounts-catalog.ts';
import type { AccountsFileKind } from './accounts-file.ts';
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

/** A file that joins all accounts, and the accounts that it is made from. */
export interface JointTarget {
  readonly kind: AccountsFileKind;
  /** Absolute path. */
  readonly file: string;
  readonly data: readonly AccountData[];
}

/** The files that the config asks for. */
export function listJointTargets({ data, combined, catalog }: JointPlaces): readonly JointTarget[] {
  const lakes = data.filter(({ lake }) => lake !== undefined);
  return [
    ...(catalog === undefined ? [] : [{ kind: 'views' as const, file: catalog, data: lakes }]),
    ...(combined === undefined ? [] : [{ kind: 'combined' as const, file: combined, data }]),
  ];
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
  places: JointPlaces,
  options: { readonly clock: Clock; readonly signal?: AbortSignal | undefined },
): Promise<JointResult> {
  const names = places.accounts.map(({ name }) => name);
  const how = { ...options, config: places.config };
  const files: JointFile[] = [];
  const errors: ReportedError[] = [];
  for (const { kind, file, data } of listJointTargets(places)) {
    try {
      refuseUnknown(names, data, `${file} was not replaced`);
      files.push(
        kind === 'views'
          ? await writeAccountsCatalog(file, data, how)
          : await publishCombined({ ...how, file, accounts: data }),
      );
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
