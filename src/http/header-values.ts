import type { ResponseHeaders } from '../model/http.ts';

/** The one value of a header without surrounding blanks; undefined when missing or sent more than once. */
export function readSingleHeader(headers: ResponseHeaders, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  if (typeof value === 'string') return trimBlanks(value);
  return value?.length === 1 && value[0] !== undefined ? trimBlanks(value[0]) : undefined;
}

/**
 * Digits as a whole number of at most `maxDigits` digits, else undefined. Number() would also take '', ' 7',
 * '0x10', '1e9' and '1.0'.
 */
export function parseDigits(text: string | undefined, maxDigits: number): number | undefined {
  if (text === undefined || !/^\d+$/.test(text)) return undefined;
  return text.length <= maxDigits ? Number(text) : undefined;
}

// Only what HTTP calls optional white space; String.trim would drop more.
function trimBlanks(value: string): string {
  return value.replace(/^[ \t]+|[ \t]+$/g, '');
}
