import type { ForcedType } from './schema.ts';

/** Types of `columns` other than `DECIMAL(p,s)`. */
export const plainColumnTypes = [
  'VARCHAR',
  'BOOLEAN',
  'BIGINT',
  'HUGEINT',
  'DOUBLE',
  'DATE',
  'TIMESTAMP',
  'TIMESTAMPTZ',
  'JSON',
] as const satisfies readonly ForcedType[];

const ALL_TYPES =
  'must be VARCHAR, BOOLEAN, BIGINT, HUGEINT, DOUBLE, DECIMAL(p,s), DATE, TIMESTAMP, TIMESTAMPTZ or JSON';
const MOST_DIGITS = 38;

/** What other databases call these types; without spaces, as the config is read. */
const ALIASES: Readonly<Record<string, (typeof plainColumnTypes)[number]>> = {
  TEXT: 'VARCHAR',
  STRING: 'VARCHAR',
  CHAR: 'VARCHAR',
  BOOL: 'BOOLEAN',
  INT: 'BIGINT',
  INTEGER: 'BIGINT',
  SMALLINT: 'BIGINT',
  INT8: 'BIGINT',
  INT64: 'BIGINT',
  FLOAT: 'DOUBLE',
  REAL: 'DOUBLE',
  FLOAT8: 'DOUBLE',
  DOUBLEPRECISION: 'DOUBLE',
  DATETIME: 'TIMESTAMP',
  TIMESTAMPWITHTIMEZONE: 'TIMESTAMPTZ',
  JSONB: 'JSON',
};

/** Whether a text, in capitals and without spaces, is a type that the config can give a column. */
export function isForcedType(text: string): text is ForcedType {
  const digits = readDigits(text);
  if (digits === undefined) return plainColumnTypes.some((type) => type === text);
  const { precision, scale } = digits;
  return precision >= 1 && precision <= MOST_DIGITS && scale <= precision;
}

/** What is wrong with such a text, and what to write. */
export function describeWrongType(text: string): string {
  const digits = readDigits(text);
  if (digits !== undefined) {
    const { precision, scale } = digits;
    if (precision > MOST_DIGITS && scale <= MOST_DIGITS)
      return `must have at most ${MOST_DIGITS} digits: write DECIMAL(${MOST_DIGITS},${scale}), or VARCHAR to keep longer numbers as text`;
    return `must have from 1 to ${MOST_DIGITS} digits in all, and no more of them after the point, e.g. DECIMAL(18,2)`;
  }
  const [, name = '', inside = ''] = /^([A-Z0-9]+)(\(.*\))?$/.exec(text) ?? [];
  if (name === 'NUMERIC' && isForcedType(`DECIMAL${inside}`))
    return `must be written DECIMAL${inside}; NUMERIC is not known here`;
  if (name === 'DECIMAL' || name === 'NUMERIC')
    return 'must say how many digits there are in all, and after the point: DECIMAL(18,2)';
  const plain = ALIASES[name] ?? plainColumnTypes.find((type) => type === name);
  if (plain === undefined) return ALL_TYPES;
  return `${ALL_TYPES}; for ${text}, write ${plain}`;
}

function readDigits(text: string): { readonly precision: number; readonly scale: number } | undefined {
  const [, precision, scale] = /^DECIMAL\((\d{1,4}),(\d{1,4})\)$/.exec(text) ?? [];
  return scale === undefined ? undefined : { precision: Number(precision), scale: Number(scale) };
}
