import { ResponseError } from '../model/errors.ts';
import type { ApiResponse } from '../model/http.ts';
import { escapeForTerminal } from '../text/redact.ts';

/** A response without its body, as errors describe it. */
export type AnswerHead = Omit<ApiResponse, 'body' | 'serverDateMs'>;

/** `page_unreadable`: the body is not a JSON document. A retry may help. */
export function unreadable(answer: AnswerHead, problem: string): ResponseError {
  return failure(
    answer,
    'page_unreadable',
    problem,
    'The table is unchanged. If this persists, check the base URL and contact the provider of the API.',
  );
}

/** `response_invalid`: a document, but not the one that was asked for. */
export function invalid(answer: AnswerHead, problem: string, hint?: string): ResponseError {
  return failure(
    answer,
    'response_invalid',
    problem,
    hint ??
      'The table is unchanged. Check the path of the stream; if it is right, contact the provider of the API.',
  );
}

/** The error of an error envelope in a 2xx answer: it must never pass for an answer without records. */
export function heldError(answer: AnswerHead, code: unknown, message: unknown): ResponseError {
  const told = [code, message]
    .filter((part) => typeof part === 'string')
    .map((part) => escapeForTerminal(part.slice(0, 500)));
  const words = told.length === 0 ? 'one without a message' : told.join(': ');
  return invalid(answer, `the answer has status ${answer.status} but holds an error: ${words}`);
}

/** The error of a record at an index that is nested too deep. */
export function tooDeep(answer: AnswerHead, index: number, depth: number, most: number): ResponseError {
  const { stream } = answer.request;
  return invalid(answer, `record ${index} of ${stream} is nested ${depth} levels deep; ${most} is the most`);
}

/** Longest record that is read, bytes: it is held in memory several times over on its way into a table. */
export const MOST_RECORD_BYTES = 16 * 2 ** 20;

/** The error of a record at an index that is larger. */
export function tooLarge(answer: AnswerHead, index: number): ResponseError {
  const { stream } = answer.request;
  const megabytes = MOST_RECORD_BYTES / 2 ** 20;
  return invalid(answer, `record ${index} of ${stream} is larger than ${megabytes} MB, the most one may be`);
}

/** The error for a small text that would take more memory than allowed. */
export function tooMuch(answer: AnswerHead, what: string, excess: string): ResponseError {
  return invalid(answer, `${what} has ${excess}, which is more than one text may have`);
}

function failure(
  { request, status, headers }: AnswerHead,
  code: 'page_unreadable' | 'response_invalid',
  problem: string,
  hint: string,
): ResponseError {
  const { stream, offset, url } = request;
  const type = headers['content-type'];
  const where = offset === undefined ? '' : ` at offset ${offset}`;
  const kind =
    code === 'page_unreadable' && typeof type === 'string'
      ? ` (content-type ${escapeForTerminal(type.slice(0, 80))})`
      : '';
  return new ResponseError(`${stream}${where} (${url.pathname}, status ${status}): ${problem}${kind}`, {
    code,
    hint,
    context: { stream, status, path: url.pathname, ...(offset === undefined ? {} : { offset }) },
  });
}
