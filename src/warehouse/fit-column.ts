import type { JsonType } from '../model/schema.ts';
import type { LearnedColumn } from '../model/stream.ts';
import { quoteIdentifier } from './identifiers.ts';
import { convertColumn } from './retype-column.ts';

/** A rebuilt table and the one it replaces. */
export interface Rebuilt {
  readonly older: string;
  readonly newer: string;
  /** JSON types that the fields of the older table had, by column. */
  readonly seen: SeenTypes;
}

/** JSON types that fields had, by column; a column is missing if they are not recorded. */
export type SeenTypes = ReadonlyMap<string, readonly JsonType[]>;

/** A column whose values get another type. */
interface Refitting {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  /** SQL name of the table that has it. */
  readonly alias?: string;
}

/** The JSON types of columns, by name. */
export function listSeen(columns: readonly LearnedColumn[]): SeenTypes {
  return new Map(
    columns.flatMap(({ name, jsonTypes }) => (jsonTypes === undefined ? [] : [[name, jsonTypes]])),
  );
}

/** SQL for a column in another type, by the rules of a sync, and for whether its value does not fit that type. */
export function fitColumn(
  seen: SeenTypes,
  { name, from, to, alias }: Refitting,
): { readonly value: string; readonly lost: string } {
  const column = alias === undefined ? quoteIdentifier(name) : `${alias}.${quoteIdentifier(name)}`;
  const { value, lost } = convertColumn(column, { from, to, jsonTypes: seen.get(name) });
  return { value, lost };
}
