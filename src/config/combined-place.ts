import path from 'node:path';
import { isInside, resolveLinks } from '../files/real-paths.ts';
import { type ConfigAccount, layerAccount } from './accounts.ts';
import { listLeaves } from './interpolate.ts';
import type { Problem } from './problem.ts';
import { isElsewhere, isFolder, isPipeOrDevice } from './storage-paths.ts';

const EXAMPLE = './all.duckdb';

/**
 * What is wrong with the path of the one file for all accounts, apart from the places of accounts; undefined if it can
 * be written there.
 *
 * @param written as in the config
 * @param file absolute; undefined where it cannot be resolved
 */
export function findCombinedProblem(
  written: string | undefined,
  file: string | undefined,
  accounts: readonly ConfigAccount[],
): Pick<Problem, 'message' | 'hint'> | undefined {
  if (written === undefined) return undefined;
  if (written.includes('${account}'))
    return {
      message: 'is one file for all accounts, so ${account} has no meaning in it',
      hint: `Write combined: "${withoutName(written)}".`,
    };
  const other = `Name another file, e.g. combined: "${EXAMPLE}".`;
  if (isElsewhere(written))
    return { message: 'must be a file on this machine', hint: `Write a path, e.g. combined: "${EXAMPLE}".` };
  if (file === undefined) return undefined;
  if (/[/\\]$/.test(written) || isFolder(file) === true)
    return {
      message: `${file} is a folder`,
      hint: `Name a file in it, e.g. ${path.join(file, 'all.duckdb')}.`,
    };
  if (isPipeOrDevice(file)) return { message: `${file} is a pipe or a device`, hint: other };
  const real = resolveLinks(file);
  // The engine would read the rest as options of the file.
  if (real.includes('?'))
    return { message: `must not have a path with a question mark: ${real}`, hint: other };
  const taken = listConfigFiles(accounts).find((one) => isInside(real, resolveLinks(one)));
  if (taken === undefined) return undefined;
  return { message: `is a file that the config needs (${taken})`, hint: other };
}

/** The same path without the name, where that leaves one of a file. */
function withoutName(written: string): string {
  const [, folder = '', name = ''] = /^(.*[/\\])?([^/\\]*)$/.exec(written) ?? [];
  const rest = name.replaceAll('${account}', '').replace(/^[-_.]+/, '');
  return folder.includes('${account}') || !/.\../.test(rest) ? EXAMPLE : `${folder}${rest}`;
}

/** The config itself, the file of the accounts, and the files that values are read from: those with the keys. */
function listConfigFiles(accounts: readonly ConfigAccount[]): readonly string[] {
  const found = accounts.flatMap((account) => {
    const { name, shared, ownFile } = account;
    const texts = listLeaves(layerAccount(account).value).map(({ value }) =>
      String(value).replaceAll('${account}', name),
    );
    const named = texts.flatMap((text) =>
      [...text.matchAll(/\$\{file:([^${}]+)\}/g)].map(([, file = '']) => file),
    );
    return [
      ...[shared.path, ownFile.path].filter((file) => file !== undefined),
      ...named.map((file) => path.resolve(shared.baseDir, file)),
    ];
  });
  return [...new Set(found)];
}
