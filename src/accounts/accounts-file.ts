import { createHash } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { z } from 'zod';
import { FILE_KIND, FILE_SOURCES } from '../../state/file-kind.ts';
import { readMeta } from '../../state/migrations.ts';
import { PublishError } from '../model/errors.ts';
import type { SqlSession } from '../model/sql.ts';
import { version } from '../model/version.ts';
import { listNames } from '../text/list-names.ts';
import type { AttachedAccount } from '../warehouse/attach-accounts.ts';
import { isUnknownTable } from '../warehouse/database-errors.ts';
import { lookInto } from '../warehouse/look-into.ts';

/** What a file with the data of several accounts has: their rows, or views over their lakes. */
export type AccountsFileKind = 'combined' | 'views';

const KINDS: Readonly<Record<string, string>> = {
  combined: 'has the rows of several accounts',
  views: 'has the views over several lakes',
};

const sourceSchema = z.object({
  account: z.string(),
  /** The commit that is in the file. */
  generation: z.string().optional(),
  /** Differs where anything does: a lake may be published again without a commit, and by another release. */
  mark: z.string(),
});

/** The part of one account in such a file. */
export type AccountSource = z.infer<typeof sourceSchema>;

/**
 * What a file was made from; undefined if there is no file.
 *
 * @param accounts names of all accounts that there are
 * @throws PublishError (2) for a file of another program, of another kind or of other accounts: it must stay
 */
export async function readSources(
  file: string,
  kind: AccountsFileKind,
  accounts: readonly string[],
): Promise<readonly AccountSource[] | undefined> {
  if (!existsSync(file)) return undefined;
  const meta = statSync(file).size > 0 ? await lookInto(file, readMeta) : undefined;
  const held = meta?.get(FILE_KIND);
  if (held !== kind) throw refuse(file, KINDS[held ?? ''] ?? describeForeign(meta));
  const sources = z.array(sourceSchema).parse(JSON.parse(meta?.get(FILE_SOURCES) ?? '[]'));
  const names = sources.map(({ account }) => account);
  if (names.length > 0 && !names.some((name) => accounts.includes(name)))
    throw refuse(file, `has the data of other accounts (${listNames(names)})`);
  return sources;
}

function describeForeign(meta: ReadonlyMap<string, string> | undefined): string {
  return meta?.has('schema_version') === true
    ? 'has the state of one account'
    : 'was not written by Sluice, or is damaged';
}

function refuse(file: string, why: string): PublishError {
  return new PublishError(`${file} ${why}; it is not replaced`, {
    code: 'publish_refused',
    hint: 'Name another file in the config, or move this one away. The data of each account is published where it belongs.',
    context: { path: file },
    exitCode: 2,
  });
}

/**
 * What a file is made from, with the files of the accounts attached.
 *
 * @throws PublishError (2) naming an account whose file has no state of Sluice
 */
export async function describeSources(
  session: SqlSession,
  accounts: readonly AttachedAccount[],
): Promise<readonly AccountSource[]> {
  const sources: AccountSource[] = [];
  for (const { account, file, prefix } of accounts) {
    const meta = await readAccountMeta(session, prefix);
    const generation = meta.find(([key]) => key === 'generation')?.[1];
    if (!meta.some(([key]) => key === 'schema_version')) {
      throw new PublishError(`account ${account}: ${file} was not written by Sluice`, {
        code: 'publish_refused',
        hint: `Move it away and run \`sluice sync\`, which publishes the account again. Nothing was changed.`,
        context: { path: file },
        exitCode: 2,
      });
    }
    const mark = createHash('sha256')
      .update(JSON.stringify([version, file, meta]))
      .digest('hex');
    sources.push({ account, generation, mark });
  }
  return sources;
}

async function readAccountMeta(
  session: SqlSession,
  prefix: string,
): Promise<readonly (readonly [key: string, value: string])[]> {
  try {
    const rows = await session.all(`SELECT key, value FROM ${prefix}_sluice.meta ORDER BY ALL`);
    return rows.map(({ key, value }) => [String(key), String(value)]);
  } catch (thrown) {
    if (isUnknownTable(thrown)) return [];
    throw thrown;
  }
}

/** Writes what a file is and what it was made from, so that no other command takes it for the file of one account. */
export async function writeSources(
  session: SqlSession,
  kind: AccountsFileKind,
  sources: readonly AccountSource[],
): Promise<void> {
  await session.run('CREATE TABLE _sluice.meta (key VARCHAR, value VARCHAR)');
  await session.run('INSERT INTO _sluice.meta VALUES ($1, $2), ($3, $4)', [
    FILE_KIND,
    kind,
    FILE_SOURCES,
    JSON.stringify(sources),
  ]);
}
