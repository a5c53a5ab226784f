import type { ChangePosition } from '../model/client-stream.ts';

/** Reads a position leniently: platforms turn whole numbers into floats, and add members of their own. */
export function readPosition(value: unknown): ChangePosition | undefined {
  if (!isObject(value)) return undefined;
  const { log, version } = value;
  const number = Number(version);
  return typeof log === 'string' && Number.isSafeInteger(number) ? { log, version: number } : undefined;
}

/** Whether a value of JSON is an object. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
