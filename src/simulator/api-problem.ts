/** The error codes the API documents. */
export type ApiErrorCode =
  'VALIDATION_ERROR' | 'UNAUTHORIZED' | 'FORBIDDEN' | 'NOT_FOUND' | 'RATE_LIMIT_EXCEEDED' | 'INTERNAL_ERROR';

/** A refusal on its way to becoming a response; thrown and caught inside the simulator only. */
export class ApiProblem extends Error {
  readonly status: number;
  readonly code: ApiErrorCode;

  constructor(status: number, code: ApiErrorCode, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** The documented error envelope; `retryAfter` may be any value, so that tests can send a wrong one. */
export function writeErrorBody(code: string, message: string, retryAfter?: unknown): string {
  return JSON.stringify({ error: { code, message, retryAfter } });
}

/** The code that the API documents for a status, else the one for unexpected errors. */
export function codeOfStatus(status: number): ApiErrorCode {
  return CODES.get(status) ?? 'INTERNAL_ERROR';
}

const CODES: ReadonlyMap<number, ApiErrorCode> = new Map([
  [400, 'VALIDATION_ERROR'],
  [401, 'UNAUTHORIZED'],
  [403, 'FORBIDDEN'],
  [404, 'NOT_FOUND'],
  [429, 'RATE_LIMIT_EXCEEDED'],
]);
