import type { DescribedColumn, DescribedTable, RelationComments } from '../model/dictionary.ts';
import { cleanName, cleanText, writeComment } from './comment-text.ts';
import { describeOwnColumn } from './own-columns.ts';

/** Each is one statement, and the engine copies the table's description for each: more take seconds. */
const MOST_COLUMNS = 500;

/**
 * The comments of a table. They depend on what was learned and reached, so that they are the same as long as that is:
 * a scan that finds nothing new writes no comment.
 */
export function writeTableComments(table: DescribedTable): RelationComments {
  const columns = table.columns.length > MOST_COLUMNS ? [] : table.columns;
  return {
    schema: 'main',
    name: table.table,
    kind: 'TABLE',
    comment: writeTableComment(table),
    columns: new Map(columns.map((column) => [column.name, writeColumnComment(column, table)])),
  };
}

function writeTableComment(table: DescribedTable): string {
  const { description, stream, holds, connector, path } = table;
  const about = description === undefined ? undefined : cleanText(description);
  if (holds === 'versions')
    return writeComment([
      about,
      `Versions of the rows of ${cleanName(stream)}, each from _valid_from until before _valid_to`,
    ]);
  return writeComment([
    about,
    `Stream ${cleanName(stream)} of ${connector} (${cleanName(path)})`,
    describeKey(table),
    describeLastScan(table),
  ]);
}

/** The key in words. */
export function describeKey({ key }: Pick<DescribedTable, 'key'>): string {
  if (key === undefined) return 'It has no key';
  const origin =
    key.origin === 'config'
      ? 'set in the config'
      : `learned from the data${key.isProved ? '' : ', not proved yet'}`;
  return `One row per ${cleanText(key.columns.join(', '))}; the key was ${origin}`;
}

function describeLastScan({ verifiedWholeAt }: DescribedTable): string {
  if (verifiedWholeAt === undefined) return 'No scan of the whole stream was verified when this was written';
  const at = `${verifiedWholeAt.slice(0, 16).replace('T', ' ')} UTC`;
  return `The whole stream was read and verified on ${at}; _sluice.checkpoints has what came after`;
}

function writeColumnComment(column: DescribedColumn, { holds, stream }: DescribedTable): string {
  const { name, type, field, companionOf, description, unit } = column;
  const own = field === undefined ? describeOwnColumn(name, holds) : undefined;
  if (own !== undefined) return writeComment([own]);
  const words = [
    description === undefined ? undefined : cleanText(description),
    unit === undefined ? undefined : `Unit: ${cleanName(unit)}`,
  ];
  if (holds === 'versions') return writeComment([...words, `As in ${cleanName(stream)}`]);
  return writeComment([...words, describeSource(field, companionOf), describeFacts(column, type)]);
}

function describeSource(field: string | undefined, companionOf: string | undefined): string | undefined {
  if (companionOf !== undefined) return `Values that ${cleanName(companionOf)} cannot hold, as text`;
  return field === undefined ? undefined : `Field ${cleanName(field)}`;
}

/** Type, evidence, nulls and key in one sentence. */
function describeFacts(column: DescribedColumn, type: string): string {
  const { evidence, hasNulls, isInKey, isHashed, absentSince, companionOf } = column;
  const facts = [
    isHashed ? 'keyed hashes in place of its values' : companionOf === undefined ? evidence : undefined,
    hasNulls === undefined ? undefined : hasNulls ? 'some rows have none' : 'every row has one',
    isInKey ? 'part of the key' : undefined,
    absentSince === undefined ? undefined : `no record has it since run ${cleanName(absentSince)}`,
  ].filter((fact) => fact !== undefined);
  return [`${type}${facts.length === 0 ? '' : ':'}`, facts.join('; ')].join(' ').trim();
}
