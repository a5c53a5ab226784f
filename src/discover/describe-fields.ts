import { canonicalText } from '../json/fingerprint.ts';
import type { DiscoveredField } from '../model/discover-report.ts';
import { Kind } from '../schema/field-kinds.ts';
import { readField, type Sample, type SampledColumn } from './sample.ts';

// Wide records by many rows: beyond this many values in memory counting stops.
const MOST_VALUES = 2_000_000;
const MOST_EXAMPLES = 3;
const LONGEST_EXAMPLE = 80;

export interface DescribeOptions {
  readonly examples: boolean;
  /** Whether config hashes the field: its values are hashes, which show nothing. */
  readonly isHashed: (path: readonly string[]) => boolean;
}

/** What the sample shows of each field, in the order of the columns. */
export function describeFields(sample: Sample, options: DescribeOptions): readonly DiscoveredField[] {
  const room = Math.ceil(MOST_VALUES / Math.max(1, sample.columns.length));
  return sample.columns.map((column) => describeField(sample, column, options, room));
}

function describeField(
  { rows }: Sample,
  column: SampledColumn,
  { examples, isHashed }: DescribeOptions,
  room: number,
): DiscoveredField {
  const { path, field, name, type, node } = column;
  const counts = { filled: 0, nulls: 0, missing: 0 };
  const values = new Set<string>();
  let isLeast = false;
  for (const row of rows) {
    const value = readField(row, path);
    if (value === undefined) counts.missing += 1;
    else if (value === null) counts.nulls += 1;
    else {
      counts.filled += 1;
      const text = canonicalText(value);
      if (values.size < room) values.add(text);
      else if (!values.has(text)) isLeast = true;
    }
  }
  const hashed = isHashed(path);
  return {
    field,
    path,
    column: name,
    type,
    seen: nameKinds(node.kinds),
    ...counts,
    distinct: values.size,
    isLeast,
    examples: examples && !hashed ? chooseExamples(values) : [],
    isHashed: hashed,
  };
}

const NAMES: readonly (readonly [bits: number, name: string])[] = [
  [Kind.boolean, 'boolean'],
  [Kind.safeInteger | Kind.bigInteger | Kind.hugeInteger, 'integer'],
  [Kind.double | Kind.decimal | Kind.hugeNumber, 'decimal'],
  [Kind.date, 'date'],
  [Kind.timestampWithZone | Kind.timestampWithoutZone, 'timestamp'],
  [Kind.text, 'text'],
  [Kind.array, 'array'],
  [Kind.object, 'object'],
];

function nameKinds(kinds: number): readonly string[] {
  return NAMES.filter(([bits]) => (kinds & bits) !== 0).map(([, name]) => name);
}

function chooseExamples(values: ReadonlySet<string>): readonly string[] {
  return [...values.values().take(MOST_EXAMPLES)].map((text) =>
    text.length <= LONGEST_EXAMPLE
      ? text
      : `${text.slice(0, LONGEST_EXAMPLE).replace(/[\ud800-\udbff]$/, '')}…`,
  );
}
