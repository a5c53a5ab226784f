import { toRetryAfterMs } from './retry-after.ts';

/** What an error body says; each part is undefined unless it has the documented type. */
export interface ErrorEnvelope {
  readonly code: string | undefined;
  readonly message: string | undefined;
  readonly retryAfterMs: number | undefined;
}

const EMPTY: ErrorEnvelope = { code: undefined, message: undefined, retryAfterMs: undefined };

// No envelope is near this size, and what is larger is not worth parsing.
const LARGEST_ENVELOPE = 1024 * 1024;

/** Reads `{ "error": { code, message, retryAfter } }`; anything else has no parts. Never throws. */
export function readErrorEnvelope(body: Buffer): ErrorEnvelope {
  if (body.length === 0 || body.length > LARGEST_ENVELOPE) return EMPTY;
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    return EMPTY;
  }
  const error = readField(value, 'error');
  const code = readField(error, 'code');
  const message = readField(error, 'message');
  return {
    code: typeof code === 'string' ? code : undefined,
    message: typeof message === 'string' ? message : undefined,
    retryAfterMs: toRetryAfterMs(readField(error, 'retryAfter')),
  };
}

function readField(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}
