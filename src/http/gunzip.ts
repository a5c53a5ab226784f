import { gunzip } from 'node:zlib';
import { TransportFault, type ResponseHeaders } from '../model/http.ts';
import { type BodyTurn, LARGE_BODY_BYTES } from './large-bodies.ts';

/**
 * The body as the server meant it. Throws TransportFault `body-corrupt` for gzip that is cut, lacks its
 * trailer or fails its checksum, `body-too-large` beyond `maxBytes`, `encoding-refused` for any other encoding.
 * Waits for its turn before it unpacks a large one.
 */
export async function decodeBody(
  body: Buffer,
  headers: ResponseHeaders,
  maxBytes: number,
  turn: BodyTurn,
): Promise<Buffer> {
  const encoding = readEncoding(headers);
  if (encoding === 'identity') return body;
  if (encoding !== 'gzip') throw unexpectedEncodingFault(encoding);
  // How large it is shows only when it is unpacked.
  const small = await gunzipBody(body, Math.min(maxBytes, LARGE_BODY_BYTES));
  if (small !== undefined) return small;
  if (maxBytes <= LARGE_BODY_BYTES) throw tooLargeFault('decompressed body', maxBytes);
  await new Promise<void>((resolve) => {
    if (turn.take(resolve)) resolve();
  });
  const whole = await gunzipBody(body, maxBytes);
  if (whole === undefined) throw tooLargeFault('decompressed body', maxBytes);
  return whole;
}

/** The fault of a response in an encoding that was not requested. */
export function unexpectedEncodingFault(encoding: string): TransportFault {
  return new TransportFault('encoding-refused', `content-encoding ${encoding.slice(0, 60)}`, { sent: true });
}

/** `identity`, `gzip`, or any other encoding that a response names. */
export function readEncoding(headers: ResponseHeaders): string {
  const value = headers['content-encoding'];
  const text = (typeof value === 'object' ? value.join(', ') : (value ?? '')).trim().toLowerCase();
  if (text === '' || text === 'identity') return 'identity';
  return text === 'x-gzip' ? 'gzip' : text;
}

// undici's own decompression takes a stream without its trailer for a whole one; zlib does not.
/** Undefined for more than `maxBytes`. */
function gunzipBody(body: Buffer, maxBytes: number): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    gunzip(body, { maxOutputLength: maxBytes }, (error: NodeJS.ErrnoException | null, decoded) => {
      if (error === null) resolve(decoded);
      else if (error.code === 'ERR_BUFFER_TOO_LARGE') resolve(undefined);
      else reject(toGunzipFault(error));
    });
  });
}

/** The fault of a body that is longer than it may be. */
export function tooLargeFault(what: 'body' | 'decompressed body', maxBytes: number): TransportFault {
  return new TransportFault('body-too-large', `the ${what} is larger than ${maxBytes} bytes`, { sent: true });
}

/** The fault of gzip that is cut, lacks its trailer or fails its checksum. */
export function toGunzipFault(error: Error): TransportFault {
  const detail = `the body is labelled as gzip but is not a complete gzip stream (${error.message})`;
  return new TransportFault('body-corrupt', detail, { sent: true, cause: error });
}
