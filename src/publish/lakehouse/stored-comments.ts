import type { RelationComments } from '../../model/dictionary.ts';
import type { SqlSession } from '../../model/sql.ts';
import { readComments, toWanted, writeComments } from '../../warehouse/comments.ts';
import { ATTACHED } from '../../warehouse/database.ts';
import { LAKE, type LakePlace, type StoredSchema, toLakeSchema } from './names.ts';

/** Comments of the work file, of tables with these names (`main.items`), with the schemas of the lakehouse. */
export async function listStoredComments(
  session: SqlSession,
  { schema }: LakePlace,
  names: ReadonlySet<string>,
): Promise<readonly RelationComments[]> {
  const held = await readComments(session, { database: ATTACHED });
  return toWanted(held)
    .filter((one) => names.has(`${one.schema}.${one.name}`))
    .filter(({ comment, columns }) => comment !== undefined || columns.size > 0)
    .map((one) => ({ ...one, schema: toLakeSchema(schema, one.schema as StoredSchema) }));
}

/** Writes them where the engine itself has the tables. */
export async function commentInEngine(
  session: SqlSession,
  { database = LAKE }: LakePlace,
  wanted: readonly RelationComments[],
): Promise<void> {
  await writeComments(session, wanted, { database });
}
