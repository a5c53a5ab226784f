import { z } from 'zod';
import { PublishError } from '../../model/errors.ts';
import type { SqlSession } from '../../model/sql.ts';
import { adviseToRewrite } from './describe-failure.ts';
import type { FoundTable, Lakehouse, Recorded, SeenTable, StoredColumn } from './lakehouse.ts';
import { nameInLake, nameThere, OWN_TABLES, toLakeSchema } from './names.ts';
import { readUnlessAltered } from './own-tables.ts';

/** Version of the tables that only a lakehouse has. */
export const LAKE_VERSION = 1;

/** What a lakehouse holds of ours. */
export interface HeldTables extends Recorded {
  /** Entries of the state's `meta`. */
  readonly meta: ReadonlyMap<string, string>;
  /** Epoch ms; that of the first publish before any. */
  readonly maintainedAtMs: number;
  /** Set once a lease was taken over; see `Fence`. */
  readonly fence: Fence | undefined;
  readonly tables: ReadonlyMap<string, HeldTable>;
  /** Another program dropped, altered or emptied the list of its tables: nothing says then which of them are ours. */
  readonly isListLost: boolean;
}

/** What refuses the runs that a takeover has overtaken; a lakehouse that had none has no place for it. */
export interface Fence {
  /** Of the last holder that took over, or published since. */
  readonly token: number;
}

/** The row of the commit's table. */
interface Commit extends Pick<HeldTables, 'fence' | 'generation' | 'maintainedAtMs'> {
  /** Whether the table has the column of the fence. */
  readonly hasFence: boolean;
}

export interface HeldTable extends FoundTable {
  /** Another program may have changed its rows since. */
  readonly isTouched: boolean;
  /** What it was when it was inspected. */
  readonly seen?: SeenTable | undefined;
}

const columnsSchema = z.array(z.strictObject({ name: z.string(), type: z.string(), storedAs: z.string() }));

/** Reads the row of the commit; undefined where its table is not there. */
export async function readCommit(session: SqlSession, lakehouse: Lakehouse): Promise<Commit | undefined> {
  const { destination } = lakehouse;
  const { schema, path } = destination;
  const taken = await lakehouse.findTaken(session, toLakeSchema(schema, '_sluice'), [OWN_TABLES.commit]);
  if (taken.length === 0) return undefined;
  const table = nameInLake(destination, '_sluice', OWN_TABLES.commit);
  const rows = await readUnlessAltered(() =>
    session.all(
      `SELECT *, generation, run_id, version, hashes, epoch_ms(maintained_at) AS maintained FROM ${table}`,
    ),
  );
  if (rows === undefined) throw describeOtherCommit(lakehouse, 'it lacks a column');
  const [commit, ...others] = rows;
  // Which of them is ours, nobody can say.
  if (commit === undefined || others.length > 0)
    throw describeOtherCommit(lakehouse, commit === undefined ? 'it has no row' : 'it has several rows');
  if (Number(commit['version']) > LAKE_VERSION)
    throw new PublishError(`a newer release of Sluice publishes to ${path}`, {
      code: 'publish_refused',
      hint: 'Upgrade Sluice. Nothing was changed.',
      context: { path },
      exitCode: 2,
    });
  const token = commit['token'] ?? undefined;
  return {
    generation: z
      .string()
      .optional()
      .parse(commit['generation'] ?? undefined),
    maintainedAtMs: Number(commit['maintained']),
    hasFence: 'token' in commit,
    fence: token === undefined ? undefined : { token: Number(token) },
  };
}

/** Reads what an open lakehouse holds of ours; undefined before the first publish. */
export async function readHeldTables(
  session: SqlSession,
  lakehouse: Lakehouse,
): Promise<HeldTables | undefined> {
  const { destination } = lakehouse;
  const own = (table: string) => nameInLake(destination, '_sluice', table);
  const state = toLakeSchema(destination.schema, '_sluice');
  const commit = await readCommit(session, lakehouse);
  if (commit === undefined) return undefined;
  const { generation, fence } = commit;
  // A first publish that was cut off may have made the commit's table alone.
  const isListed =
    generation !== undefined || (await lakehouse.findTaken(session, state, [OWN_TABLES.tables])).length > 0;
  const list = `SELECT name, columns, partitions FROM ${own(OWN_TABLES.tables)} ORDER BY name`;
  const rows = isListed ? await readUnlessAltered(() => session.all(list)) : [];
  const recorded = new Map(
    (rows ?? []).map(({ name, columns, partitions }) => [
      String(name),
      { columns: parseColumns(columns), partitions: String(partitions) },
    ]),
  );
  const { found, touched, seen } = await lakehouse.inspect(session, { generation, tables: recorded });
  const tables = [...recorded].map(([name, table]) => {
    const listed = found.get(name) ?? 'as published';
    // Without columns nothing is known of it but its name.
    const state = listed === 'as published' && table.columns.length === 0 ? 'altered' : listed;
    return [
      name,
      {
        ...table,
        found: state,
        isTouched: state !== 'as published' || touched.has(name),
        seen: seen?.get(name),
      },
    ] as const;
  });
  const isMetaHeld = found.get('_sluice.meta') !== 'gone' && recorded.has('_sluice.meta');
  const meta = isMetaHeld ? await session.all(`SELECT key, value FROM ${own('meta')}`) : [];
  return {
    generation,
    fence,
    maintainedAtMs: commit.maintainedAtMs,
    meta: new Map(meta.map(({ key, value }) => [String(key), String(value)])),
    tables: new Map(tables),
    isListLost: rows === undefined || (generation !== undefined && !recorded.has('_sluice.meta')),
  };
}

/** Columns that were not written by a publish are of no table: it counts as altered, and is written again. */
function parseColumns(text: unknown): readonly StoredColumn[] {
  try {
    return columnsSchema.parse(JSON.parse(String(text)));
  } catch {
    return [];
  }
}

function describeOtherCommit({ destination }: Lakehouse, what: string): PublishError {
  const { path, schema } = destination;
  const table = nameThere(schema, `_sluice.${OWN_TABLES.commit}`);
  return new PublishError(
    `${path}: another program changed ${table}, in which a publish is recorded: ${what}`,
    {
      code: 'publish_refused',
      hint: `Restore that table. If it is lost, ${adviseToRewrite(destination)} Nothing was changed.`,
      context: { path },
      exitCode: 2,
    },
  );
}

/** Whether a lakehouse has this commit, and nobody changed it since. */
export function holds(held: HeldTables | undefined, generation: string): boolean {
  return held?.generation === generation && !held.isListLost && !isAnyTouched(held);
}

/** The same, as if another program may have changed any of them. */
export function touchAll(held: HeldTables): HeldTables {
  const tables = [...held.tables].map(([name, table]) => [name, { ...table, isTouched: true }] as const);
  return { ...held, tables: new Map(tables) };
}

/** Whether another program may have changed rows since the last publish. */
export function isAnyTouched({ tables }: HeldTables): boolean {
  return [...tables.values()].some(({ isTouched }) => isTouched);
}
