/** JSON text that is sent exactly as it stands: 2^53+1, repeated names, broken documents. */
export class RawJson {
  readonly text: string;
  /** What filters see instead of the text's own fields. */
  readonly fields: Readonly<Record<string, unknown>> | undefined;

  constructor(text: string, fields?: Readonly<Record<string, unknown>>) {
    this.text = text;
    this.fields = fields;
  }
}

/** Wraps JSON text, as a whole record or as one value inside it, so that it is sent verbatim. */
export function rawJson(text: string): RawJson {
  return new RawJson(text);
}

/** Like JSON.stringify, but RawJson is written verbatim and a bigint as its digits. */
export function writeJson(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (value instanceof RawJson) return value.text;
  if (Array.isArray(value)) return `[${value.map(writeJson).join(',')}]`;
  if (value instanceof Date) return JSON.stringify(value);
  const members: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined) members.push(`${JSON.stringify(name)}:${writeJson(member)}`);
  }
  return `{${members.join(',')}}`;
}

/** A record's fields for filtering; raw text is parsed, and what is not an object has those it was given. */
export function readFields(record: unknown): Readonly<Record<string, unknown>> {
  if (record instanceof RawJson && record.fields !== undefined) return record.fields;
  const value: unknown = record instanceof RawJson ? parseOrUndefined(record.text) : record;
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
