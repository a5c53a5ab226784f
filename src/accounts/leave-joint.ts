import { rm } from 'node:fs/promises';
import type { Clock } from '../model/clock.ts';
import type { ReportedError } from '../model/run-report.ts';
import { type AccountsFileKind, readOwnSources } from './accounts-file.ts';
import { type JointPlaces, listJointTargets, publishJoint } from './publish-joint.ts';

/** What happened to the files that join accounts. */
export interface LeftJoint {
  readonly notes: readonly string[];
  readonly error: ReportedError | undefined;
}

/**
 * Takes an account that the config no longer has out of the files that join accounts, before its data is deleted:
 * views over its lake would fail for all. Views that cannot be written again are removed, as is a file with rows of
 * this account alone.
 *
 * @returns sentences for people, and the error if a file could not be written
 */
export async function leaveJoint(
  account: string,
  joint: JointPlaces,
  options: { readonly clock: Clock },
): Promise<LeftJoint> {
  const find = async () => {
    const found = [];
    for (const { kind, file } of listJointTargets(joint)) {
      const names = await readNames(file, kind);
      if (names?.includes(account) === true) found.push({ kind, file, names });
    }
    return found;
  };
  if ((await find()).length === 0) return { notes: [], error: undefined };
  const { error } = await publishJoint(joint, options);
  const why = error === undefined ? '' : ` (${error.message})`;
  const notes = [];
  for (const { kind, file, names } of await find()) {
    if (kind === 'combined' && names.length > 1) {
      notes.push(`${file} still has the rows of ${account}, until a sync can write it again${why}.`);
      continue;
    }
    await rm(file, { force: true });
    notes.push(
      `${file} was removed, because it could not be written without ${account}${why}. The next sync writes it.`,
    );
  }
  return { notes, error };
}

async function readNames(file: string, kind: AccountsFileKind): Promise<readonly string[] | undefined> {
  return (await readOwnSources(file, kind))?.map(({ account }) => account);
}
