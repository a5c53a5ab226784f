import { parseExact } from '../json/exact-number.ts';
import { describeLines, findRepeatedNames } from '../json/repeated-names.ts';
import { findSchemaProblems, type JsonObject, type SchemaProblem } from './find-schema-problems.ts';

const MOST_REPEATED = 20;

/** A contract file's text as a JSON Schema, or what keeps it from being one. */
export type ParsedContract =
  | { readonly json: JsonObject; readonly problems: undefined }
  | { readonly json: undefined; readonly problems: readonly SchemaProblem[] };

/**
 * Parses a contract file; numbers keep every digit, since records are compared with them. A member named twice is a
 * problem: the first one, which may be a rule, would not apply.
 */
export function parseContract(text: string): ParsedContract {
  let json: unknown;
  try {
    json = parseExact(text);
  } catch (error) {
    const message = `is not JSON: ${(error as Error).message}`;
    return { json: undefined, problems: [{ pointer: '', message }] };
  }
  const repeated = findRepeatedNames(text).map((found) => ({
    pointer: found.pointer,
    message: `is named more than once, ${describeLines(found)}; only the last one would count`,
  }));
  const problems = [...repeated.slice(0, MOST_REPEATED), ...findSchemaProblems(json)];
  return problems.length > 0
    ? { json: undefined, problems }
    : { json: json as JsonObject, problems: undefined };
}
