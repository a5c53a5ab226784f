import { gunzip } from 'node:zlib';
import { TransportFault, type ResponseHeaders } from '../model/http.ts';

/**
 * The body as the server meant it. Throws TransportFault `body-corrupt` for gzip that is cut, lacks its
 * trailer or fails its checksum, `body-too-large` beyond `maxBytes`, `encoding-refused` for any other encoding.
 */
export async function decodeBody(body: Buffer, headers: ResponseHeaders, maxBytes: number): Promise<Buffer> {
  const encoding = readEncoding(headers);
  if (encoding === 'identity') return body;
  if (encoding === 'gzip') return gunzipBody(body, maxBytes);
  throw new TransportFault('encoding-refused', `content-encoding ${encoding.slice(0, 60)}`, { sent: true });
}

function readEncoding(headers: ResponseHeaders): string {
  const value = headers['content-encoding'];
  const text = (typeof value === 'object' ? value.join(', ') : (value ?? '')).trim().toLowerCase();
  if (text === '' || text === 'identity') return 'identity';
  return text === 'x-gzip' ? 'gzip' : text;
}

// undici's own decompression takes a stream without its trailer for a whole one; zlib does not.
function gunzipBody(body: Buffer, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    gunzip(body, { maxOutputLength: maxBytes }, (error, decoded) => {
      if (error === null) resolve(decoded);
      else reject(toFault(error, maxBytes));
    });
  });
}

function toFault(error: NodeJS.ErrnoException, maxBytes: number): TransportFault {
  if (error.code === 'ERR_BUFFER_TOO_LARGE') {
    const detail = `the decompressed body is larger than ${maxBytes} bytes`;
    return new TransportFault('body-too-large', detail, { sent: true });
  }
  const detail = `the body is not the whole gzip stream it is labelled as (${error.message})`;
  return new TransportFault('body-corrupt', detail, { sent: true, cause: error });
}
