import { z } from 'zod';
import { isJsonNumber, type JsonNumber } from '../json/exact-number.ts';
import { compareNumbers, isMultipleOf, isWhole, writeNumber } from './exact-arithmetic.ts';
import { compilePattern, type JsonObject } from './find-schema-problems.ts';
import { compileFormat, isTemporalFormat } from './formats.ts';
import { reportIssue } from './report-issue.ts';
import { describeKind } from './value-kinds.ts';
import { formatCountOf } from '../text/format-count.ts';

/** The first thing wrong with a value, or undefined. */
type Find<T> = (value: T) => string | undefined;

/** What a schema asks of numbers; undefined where it asks nothing and does not name the type. */
export function compileNumber(json: JsonObject, onlyWhole: boolean, isAsked: boolean): z.ZodType | undefined {
  const rules = listNumberRules(json);
  if (!isAsked && rules.length === 0) return undefined;
  const expected = onlyWhole ? 'integer' : 'number';
  return z.unknown().check((payload) => {
    const { value } = payload;
    if (!isJsonNumber(value) || (onlyWhole && !isWhole(value))) {
      reportIssue(payload, 'type', `expected ${expected}, got ${describeKind(value)}`);
      return;
    }
    for (const rule of rules) {
      const problem = rule(value);
      if (problem !== undefined) reportIssue(payload, 'rule', problem);
    }
  });
}

function listNumberRules(json: JsonObject): readonly Find<JsonNumber>[] {
  const bound = (
    keyword: string,
    isRight: (order: number) => boolean,
    words: string,
  ): Find<JsonNumber> | undefined => {
    const limit = json[keyword];
    if (!isJsonNumber(limit)) return undefined;
    return (value) =>
      isRight(compareNumbers(value, limit)) ? undefined : `is ${words} ${writeNumber(limit)}`;
  };
  const step = json['multipleOf'];
  return [
    bound('minimum', (order) => order >= 0, 'less than'),
    bound('maximum', (order) => order <= 0, 'more than'),
    bound('exclusiveMinimum', (order) => order > 0, 'not more than'),
    bound('exclusiveMaximum', (order) => order < 0, 'not less than'),
    isJsonNumber(step)
      ? (value: JsonNumber) =>
          isMultipleOf(value, step) ? undefined : `is not a multiple of ${writeNumber(step)}`
      : undefined,
  ].filter((rule) => rule !== undefined);
}

/** The same for text. */
export function compileText(json: JsonObject, isAsked: boolean): z.ZodType | undefined {
  const rules = listTextRules(json);
  const { format } = json;
  const isTemporal = typeof format === 'string' && isTemporalFormat(format);
  const hasFormat = typeof format === 'string' ? compileFormat(format) : undefined;
  if (!isAsked && rules.length === 0 && hasFormat === undefined) return undefined;
  const type = z.string({ error: ({ input }) => `expected string, got ${describeKind(input)}` });
  if (rules.length === 0 && hasFormat === undefined) return type;
  return type.check((payload) => {
    const { value } = payload;
    // A column's type hangs on it.
    if (hasFormat?.(value) === false)
      reportIssue(payload, isTemporal ? 'type' : 'rule', `is no ${String(format)}`);
    for (const rule of rules) {
      const problem = rule(value);
      if (problem !== undefined) reportIssue(payload, 'rule', problem);
    }
  });
}

function listTextRules(json: JsonObject): readonly Find<string>[] {
  const { minLength, maxLength, pattern } = json;
  const expression = typeof pattern === 'string' ? compilePattern(pattern) : undefined;
  return [
    typeof minLength === 'number'
      ? (text: string) =>
          countCharacters(text) < minLength
            ? `is shorter than ${formatCountOf(minLength, 'character')}`
            : undefined
      : undefined,
    typeof maxLength === 'number'
      ? (text: string) =>
          // A text has at most as many characters as code units.
          text.length > maxLength && countCharacters(text) > maxLength
            ? `is longer than ${formatCountOf(maxLength, 'character')}`
            : undefined
      : undefined,
    expression === undefined
      ? undefined
      : (text: string) =>
          expression.test(text) ? undefined : `does not match ${expression.source.slice(0, 80)}`,
  ].filter((rule) => rule !== undefined);
}

function countCharacters(text: string): number {
  let count = text.length;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const next = text.charCodeAt(at + 1);
    if (code >= 0xd800 && code < 0xdc00 && next >= 0xdc00 && next < 0xe000) count -= 1;
  }
  return count;
}
