import type { Stream } from '../../model/stream.ts';
import { isRecordObject } from '../../schema/observe-fields.ts';

// Records that differ in more are two records.
const MOST_FIELDS = 2;

/**
 * Names of the few fields in which two records differ that are otherwise the same; none for two other records, undefined
 * where nothing differs. Members are compared as JSON, in their order: a list in another order differs.
 */
export function listDifferingFields(one: unknown, other: unknown): readonly string[] | undefined {
  if (!isRecordObject(one) || !isRecordObject(other)) return [];
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  const differing = names.filter((name) => JSON.stringify(one[name]) !== JSON.stringify(other[name]));
  if (differing.length === 0) return undefined;
  return differing.length <= MOST_FIELDS && differing.length * 2 <= names.length ? differing : [];
}

/** What to do about a field that is another one at every answer; undefined where there is none. */
export function adviseExclude(stream: Stream, fields: readonly string[]): string | undefined {
  const [first] = fields;
  if (first === undefined) return undefined;
  return `A field that is another one at every answer keeps pages from being compared: leave it out, as ${settingOf(stream, first)}, or have the source mended.`;
}

function settingOf({ name }: Stream, field: string): string {
  return `streams: { ${name}: { columns: { ${JSON.stringify(field)}: { exclude: true } } } }`;
}
