import { parseExact } from '../json/exact-number.ts';
import { findSchemaProblems, type JsonObject, type SchemaProblem } from './find-schema-problems.ts';

/** A contract file's text as a JSON Schema, or what keeps it from being one. */
export type ParsedContract =
  | { readonly json: JsonObject; readonly problems: undefined }
  | { readonly json: undefined; readonly problems: readonly SchemaProblem[] };

/** Parses a contract file; numbers keep every digit, since records are compared with them. */
export function parseContract(text: string): ParsedContract {
  let json: unknown;
  try {
    json = parseExact(text);
  } catch (error) {
    const message = `is not JSON: ${(error as Error).message}`;
    return { json: undefined, problems: [{ pointer: '', message }] };
  }
  const problems = findSchemaProblems(json);
  return problems.length > 0
    ? { json: undefined, problems }
    : { json: json as JsonObject, problems: undefined };
}
