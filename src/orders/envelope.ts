import { resolvePointer } from '../json/pointer.ts';
import { escapeForTerminal } from '../text/redact.ts';
import type { FoundMember } from './page-order.ts';

/** An answer whose envelope is not as its connector describes it; the message says how. */
export class EnvelopeError extends Error {}

/** A count; undefined where it is missing or null. Throws EnvelopeError for anything else. */
export function readCount(value: unknown, pointer: string): number | undefined {
  const count = resolvePointer(value, pointer);
  if (count === undefined || count === null) return undefined;
  if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) return count;
  throw new EnvelopeError(`${pointer} should be a whole number, got ${describeValue(count)}`);
}

/** What names the next page; undefined where nothing does. Throws EnvelopeError for what is not a name. */
export function readNext(value: unknown, pointer: string): string | undefined {
  const next = resolvePointer(value, pointer);
  if (next === undefined || next === null || next === '') return undefined;
  if (typeof next === 'string' || (typeof next === 'number' && Number.isSafeInteger(next)))
    return String(next);
  throw new EnvelopeError(`${pointer} should name the next page, got ${describeValue(next)}`);
}

/** A flag; undefined where there is none. */
export function readFlag(value: unknown, pointer: string): boolean | undefined {
  const flag = resolvePointer(value, pointer);
  return typeof flag === 'boolean' ? flag : undefined;
}

/** Whether a member is set: a flag that is true. */
export function isSet(found: FoundMember | undefined): boolean {
  return found?.kind === 'true';
}

/** A value of an answer as errors show it. */
export function describeValue(value: unknown): string {
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (value === null) return 'null';
  if (typeof value === 'object')
    return `an object with ${
      Object.keys(value)
        .slice(0, 8)
        .map((key) => escapeForTerminal(key.slice(0, 40)))
        .join(', ') || 'no members'
    }`;
  return `${typeof value} ${escapeForTerminal(JSON.stringify(value).slice(0, 60))}`;
}
