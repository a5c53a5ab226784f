import type { DescribedColumn, DescribedKey, DescribedTable } from '../model/dictionary.ts';
import type { ColumnRule, FieldNotes } from '../model/schema.ts';
import { type Checkpoint, KEY_PROOF_DAYS, type LearnedColumn, type Stream } from '../model/stream.ts';
import { readNotes } from '../contract/field-notes.ts';
import { companionPath, companionSource, toFieldName } from '../schema/field-paths.ts';
import { namesField } from '../schema/field-rules.ts';
import { pathKey } from '../schema/name-columns.ts';
import { describeEvidence } from './describe-evidence.ts';

/** What the tables and the state say about a stream's table. */
export interface TableFacts {
  readonly stream: Stream;
  readonly connector: string;
  /** The table itself, or its history. */
  readonly table: string;
  readonly holds: DescribedTable['holds'];
  /** Columns of the table with their types, in order. */
  readonly held: ReadonlyMap<string, string>;
  readonly learned: readonly LearnedColumn[];
  /** Of the stream, or of its slices. */
  readonly checkpoints: readonly Checkpoint[];
  /** Columns in which a row has no value; undefined where nobody looked. */
  readonly withNulls: ReadonlySet<string> | undefined;
}

/** Describes a table of a stream. Pure: the same facts give the same description. */
export function describeTable(facts: TableFacts): DescribedTable {
  const { stream, connector, table, holds, held, learned, checkpoints } = facts;
  const findNotes = readNotes(stream.contract.schema?.json);
  const key = findKey(facts);
  const byName = new Map(learned.map((column) => [column.name, column]));
  return {
    table,
    stream: stream.name,
    holds,
    connector,
    path: stream.path,
    description: findNotes([]).description,
    key,
    verifiedWholeAt: findWholeScan(checkpoints),
    columns: [...held].map(([name, engineType]) => {
      const type = engineType.replace(' WITH TIME ZONE', 'TZ');
      const column = byName.get(name);
      return column === undefined
        ? describeOwn(name, type, { ...facts, key })
        : describeLearned(column, type, { ...facts, key, findNotes });
    }),
  };
}

/** The same key in two slices is two rows. */
function findKey({ checkpoints, held }: TableFacts): DescribedKey | undefined {
  const known = checkpoints.filter(({ keyFields }) => keyFields !== undefined);
  const [first] = known;
  if (first?.keyFields === undefined) return undefined;
  const isProved = known.every(
    (one) => one.keyOrigin === 'config' || one.keyProvedOn.length >= KEY_PROOF_DAYS,
  );
  const columns = [...first.keyFields, ...(held.has('_slice') ? ['_slice'] : [])];
  return { columns, origin: first.keyOrigin ?? 'learned', isProved };
}

/** Of slices the oldest: from then on, all of them were verified. */
function findWholeScan(checkpoints: readonly Checkpoint[]): string | undefined {
  const times = checkpoints.map(({ wholeAt }) => wholeAt);
  if (times.length === 0 || times.includes(undefined)) return undefined;
  return times.filter((time) => time !== undefined).toSorted()[0];
}

interface Known extends TableFacts {
  readonly key: DescribedKey | undefined;
  readonly findNotes: (path: readonly string[]) => FieldNotes;
}

function describeLearned(
  { name, path, jsonTypes, absentSince }: LearnedColumn,
  type: string,
  { stream, learned, withNulls, key, findNotes }: Known,
): DescribedColumn {
  const source = companionSource(path);
  const names = (source ?? path).map(toFieldName);
  const find = (wanted: readonly string[]) =>
    learned.find((one) => one.type !== 'NULL' && pathKey(one.path) === pathKey(wanted))?.name;
  const rule = findRule(stream.columns, name, names);
  const companion = source === undefined ? find(companionPath(path)) : undefined;
  return {
    name,
    type,
    field: names.join('.'),
    companionOf: source && find(source),
    evidence: describeEvidence({ type, jsonTypes, isForced: rule?.kind === 'type', companion }),
    hasNulls: withNulls?.has(name),
    isInKey: key?.columns.includes(name) === true,
    isHashed: rule?.kind === 'hash',
    absentSince,
    ...findNotes(names),
  };
}

function describeOwn(
  name: string,
  type: string,
  { withNulls, key }: Pick<Known, 'withNulls' | 'key'>,
): DescribedColumn {
  return {
    name,
    type,
    field: undefined,
    companionOf: undefined,
    evidence: undefined,
    hasNulls: withNulls?.has(name),
    isInKey: key?.columns.includes(name) === true,
    isHashed: false,
    absentSince: undefined,
    description: undefined,
    unit: undefined,
  };
}

function findRule(
  rules: Readonly<Record<string, ColumnRule>>,
  name: string,
  path: readonly string[],
): ColumnRule | undefined {
  return Object.entries(rules).find(([field]) => field === name || namesField(field, path))?.[1];
}
