import type { ChangePosition } from '../model/client-stream.ts';

/** Reads a position leniently: platforms turn whole numbers into floats, and add members of their own. */
export function readPosition(value: unknown): ChangePosition | undefined {
  if (!isObject(value)) return undefined;
  const { log, version, without } = value;
  const number = Number(version);
  if (typeof log !== 'string' || !Number.isSafeInteger(number)) return undefined;
  return { log, version: number, ...(Array.isArray(without) && { without: without.map(String) }) };
}

/** Whether a value of JSON is an object. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
