import { dirname } from 'node:path';
import { writeComment } from '../dictionary/comment-text.ts';
import type { RelationComments } from '../model/dictionary.ts';
import { AbortedError, toSyncError } from '../model/errors.ts';
import { writeComments } from '../warehouse/comments.ts';
import { Database } from '../warehouse/database.ts';
import { quoteIdentifier } from '../warehouse/identifiers.ts';
import { createEngineDialect } from './engine-dialect.ts';
import { planViews } from './plan-views.ts';
import { readViewTables } from './read-view-tables.ts';

/** How views are added. */
export interface AddOptions {
  /** The tables have a column for the account. */
  readonly isJoint?: boolean;
  readonly warn?: ((message: string) => void) | undefined;
}

/** Names are found in the file that has the view, wherever it is attached. */
const dialect = createEngineDialect((schema, name) => `${schema}.${quoteIdentifier(name)}`);

/**
 * Adds the views to an open file that is not published yet. What cannot be made is left out, with a warning: the rows are
 * published all the same.
 */
export async function addViews(
  database: Database,
  { isJoint = false, warn = () => undefined }: AddOptions = {},
): Promise<void> {
  const { views, notes } = planViews(await readViewTables(database, { isJoint }), { dialect, isJoint });
  notes.forEach(warn);
  const comments: RelationComments[] = [];
  for (const { schema, name, about, holds, select } of views) {
    try {
      await database.run(`CREATE VIEW ${dialect.locate(schema, name)} AS ${select}`);
      comments.push({ schema, name, kind: 'VIEW', comment: writeComment(holds), columns: new Map() });
    } catch (thrown) {
      if (thrown instanceof AbortedError) throw thrown;
      warn(`there is no view of ${about}: ${toSyncError(thrown).message}`);
    }
  }
  try {
    await writeComments(database, comments);
  } catch (thrown) {
    if (thrown instanceof AbortedError) throw thrown;
    warn(`the views have no comments: ${toSyncError(thrown).message}`);
  }
}

/**
 * The same for a closed file.
 *
 * @param views folders with the files that its tables are read from
 */
export async function addViewsToFile(
  file: string,
  options: AddOptions,
  views: readonly string[] = [],
): Promise<void> {
  const database = await Database.open({ file, folders: [dirname(file), ...views] });
  try {
    await addViews(database, options);
    await database.checkpoint();
  } finally {
    await database.release();
  }
}

/** Removes all views of a closed file that is to become a work file, whose tables they would get in the way of. */
export async function removeViews(file: string): Promise<void> {
  const database = await Database.open({ file, folders: [dirname(file)] });
  try {
    const rows = await database.all(
      `SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = current_database() AND NOT internal`,
    );
    for (const { schema_name: schema, view_name: view } of rows)
      await database.run(`DROP VIEW ${quoteIdentifier(String(schema))}.${quoteIdentifier(String(view))}`);
    await database.checkpoint();
  } finally {
    await database.release();
  }
}
