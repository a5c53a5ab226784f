import type { RelationComments } from '../../model/dictionary.ts';
import type { SqlSession } from '../../model/sql.ts';
import { readComments, toWanted } from '../../warehouse/comments.ts';
import { ATTACHED } from '../../warehouse/database-options.ts';
import { type LakePlace, type StoredSchema, toLakeSchema } from './names.ts';

/** The comments that the tables of the work file have, while it is open alone. */
export async function readStoredComments(session: SqlSession): Promise<readonly RelationComments[]> {
  return toWanted(await readComments(session, { database: ATTACHED })).filter(
    ({ comment, columns }) => comment !== undefined || columns.size > 0,
  );
}

/** Those of tables with these names (`main.items`), with the schemas of the lakehouse. */
export function moveComments(
  comments: readonly RelationComments[],
  { schema }: LakePlace,
  names: ReadonlySet<string>,
): readonly RelationComments[] {
  return comments
    .filter((one) => names.has(`${one.schema}.${one.name}`))
    .map((one) => ({ ...one, schema: toLakeSchema(schema, one.schema as StoredSchema) }));
}
