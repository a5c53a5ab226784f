import type { Stream } from '../model/stream.ts';
import { isRecordObject } from '../schema/observe-fields.ts';

// Records that differ in more fields are different records.
const MOST_FIELDS = 2;

/**
 * Names of the few fields in which two otherwise equal records differ; empty for different records, undefined if
 * nothing differs. Members are compared as ordered JSON: a list in a different order differs.
 */
export function listDifferingFields(one: unknown, other: unknown): readonly string[] | undefined {
  if (!isRecordObject(one) || !isRecordObject(other)) return [];
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  const differing = names.filter((name) => JSON.stringify(one[name]) !== JSON.stringify(other[name]));
  if (differing.length === 0) return undefined;
  return differing.length <= MOST_FIELDS && differing.length * 2 <= names.length ? differing : [];
}

/** Advice about a field that changes on every request; undefined if there is none. */
export function adviseExclude(stream: Stream, fields: readonly string[]): string | undefined {
  const [first] = fields;
  if (first === undefined) return undefined;
  return `This field changes on every request, so pages cannot be compared: exclude it with ${settingOf(stream, first)}, or ask the provider to fix the source.`;
}

function settingOf({ name }: Stream, field: string): string {
  return `streams: { ${name}: { columns: { ${JSON.stringify(field)}: { exclude: true } } } }`;
}
