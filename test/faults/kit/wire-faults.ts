import { deflateSync, gzipSync } from 'node:zlib';
import type { ExchangeLimits } from '../../../src/http/exchange.ts';
import type { ErrorCode } from '../../../src/model/errors.ts';
import { type Step, toBytes, type WireAnswer } from './wire-server.ts';

/** Something a server does to one request, and what a sync makes of it when it never stops. */
export interface WireFault {
  readonly what: string;
  readonly steps: (healthy: WireAnswer) => readonly Step[];
  readonly exitCode: 4 | 75;
  readonly code: ErrorCode;
  /** Requests of a run that meets nothing else. */
  readonly requests: number;
  readonly says: RegExp;
  /** Deadlines and caps, so that nobody waits for the real ones. */
  readonly limits?: Partial<ExchangeLimits>;
}

const JSON_HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';
const SHORT: Partial<ExchangeLimits> = { headersMs: 40 };

const text = ({ body }: WireAnswer): string => body.toString();

/** The healthy answer with another body or other headers. */
function change(
  how: (healthy: WireAnswer) => {
    readonly status?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string | Buffer;
  },
): WireFault['steps'] {
  return (healthy) => {
    const { status, headers = {}, body = healthy.body } = how(healthy);
    const all = { ...healthy.headers, ...headers };
    return [{ send: toBytes({ ...(status && { status }), headers: all, body }) }];
  };
}

function gzipped(spoil: (bytes: Buffer) => Buffer): WireFault['steps'] {
  return change((healthy) => ({
    headers: { 'content-encoding': 'gzip' },
    body: spoil(gzipSync(healthy.body)),
  }));
}

function flipBit(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  const index = at < 0 ? copy.length + at : at;
  copy[index] = (copy[index] ?? 0) ^ 1;
  return copy;
}

const half = (bytes: Buffer | string) => Buffer.from(bytes).subarray(0, bytes.length >> 1);

function send(bytes: string | Buffer, ...rest: readonly Step[]): WireFault['steps'] {
  return () => [{ send: bytes }, ...rest];
}

const unreachable = { exitCode: 75, code: 'network_unreachable', requests: 5 } as const;
const malformed = { exitCode: 4, code: 'response_invalid', requests: 5, says: /malformed HTTP/ } as const;
const unreadable = { exitCode: 4, code: 'page_unreadable', requests: 2 } as const;
const corrupt = {
  exitCode: 4,
  code: 'page_unreadable',
  requests: 5,
  says: /does not match its encoding/,
} as const;
const refused = { exitCode: 4, code: 'page_unreadable', requests: 1 } as const;

/** What the connection does. */
export const connectionFaults: readonly WireFault[] = [
  {
    what: 'no byte of an answer',
    steps: () => ['hang'],
    ...unreachable,
    says: /did not answer in time.*no answer within 40 ms/,
    limits: SHORT,
  },
  {
    what: 'headers that drip for ever',
    steps: () => [{ send: JSON_HEAD }, { send: 'x-drip: ' }, { drip: 'x'.repeat(10_000), everyMs: 5 }],
    ...unreachable,
    says: /no answer within 40 ms/,
    limits: SHORT,
  },
  {
    what: 'announcements of an answer that never comes',
    steps: () => [{ flood: 'HTTP/1.1 103 Early Hints\r\nlink: </style.css>\r\n\r\n', everyMs: 1 }],
    ...unreachable,
    says: /no answer within 40 ms/,
    limits: SHORT,
  },
  {
    what: 'a body that drips for ever',
    steps: ({ body }) => [
      { send: `${JSON_HEAD}content-length: ${body.length}\r\n\r\n` },
      { drip: body, everyMs: 5 },
    ],
    ...unreachable,
    says: /the exchange took longer than 200 ms/,
    limits: { totalMs: 200 },
  },
  {
    what: 'a body that stops',
    steps: ({ body }) => [
      { send: `${JSON_HEAD}content-length: ${body.length}\r\n\r\n` },
      { send: half(body) },
      'hang',
    ],
    ...unreachable,
    says: /no more of the body within 40 ms/,
    limits: { idleMs: 40 },
  },
  {
    what: 'an end before the headers',
    steps: () => ['fin'],
    ...unreachable,
    says: /closed the connection without an answer/,
  },
  {
    what: 'a reset before the headers',
    steps: () => ['rst'],
    ...unreachable,
    says: /closed the connection without an answer/,
  },
  {
    what: 'a reset within the headers',
    steps: () => [{ send: 'HTTP/1.1 200 OK\r\ncontent-ty' }, { waitMs: 5 }, 'rst'],
    ...unreachable,
    says: /closed the connection without an answer/,
  },
  {
    what: 'a reset within a body whose length is known',
    steps: ({ body }) => [
      { send: `${JSON_HEAD}content-length: ${body.length}\r\n\r\n` },
      { send: half(body) },
      { waitMs: 5 },
      'rst',
    ],
    ...unreachable,
    says: /was cut off/,
  },
  {
    what: 'a reset within a body of unknown length',
    steps: ({ body }) => [{ send: `${JSON_HEAD}\r\n` }, { send: half(body) }, { waitMs: 5 }, 'rst'],
    // To the HTTP client that is an end like any other: only the document tells.
    ...unreadable,
    says: /the body is not JSON/,
  },
  {
    what: 'an end within a body of unknown length',
    steps: ({ body }) => [{ send: `${JSON_HEAD}\r\n` }, { send: half(body) }, 'fin'],
    ...unreadable,
    says: /the body is not JSON/,
  },
  {
    what: 'an end before the length that was announced',
    steps: ({ body }) => [
      { send: `${JSON_HEAD}content-length: ${body.length + 1}\r\n\r\n` },
      { send: body },
      'fin',
    ],
    ...unreachable,
    says: /was cut off/,
  },
  {
    what: 'a length shorter than the body',
    steps: ({ body }) => [
      { send: `${JSON_HEAD}content-length: ${body.length - 10}\r\n\r\n` },
      { send: body },
    ],
    ...unreadable,
    says: /the body is not JSON/,
  },
  {
    what: 'chunks without their end',
    steps: ({ body }) => [
      { send: `${JSON_HEAD}transfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n` },
      { send: body },
      'fin',
    ],
    ...unreachable,
    says: /was cut off/,
  },
];

/** What is not HTTP, or more of it than anybody needs. */
export const protocolFaults: readonly WireFault[] = [
  {
    what: 'an invalid chunk size',
    steps: send(`${JSON_HEAD}transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`),
    ...malformed,
  },
  {
    what: 'a chunk size beyond any number',
    steps: send(`${JSON_HEAD}transfer-encoding: chunked\r\n\r\n${'f'.repeat(20)}\r\n{}`),
    ...malformed,
  },
  {
    what: 'a length and chunks',
    steps: send(`${JSON_HEAD}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`),
    ...malformed,
  },
  {
    what: 'two lengths',
    steps: send(`${JSON_HEAD}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`),
    ...malformed,
  },
  { what: 'a negative length', steps: send(`${JSON_HEAD}content-length: -1\r\n\r\n{}`), ...malformed },
  { what: 'another protocol', steps: send('220 mail.example.com ESMTP\r\n'), ...malformed },
  {
    what: 'another protocol from here on',
    steps: send('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'),
    ...malformed,
  },
  {
    what: 'a status below 100',
    steps: send('HTTP/1.1 099 Less\r\ncontent-length: 2\r\n\r\n{}'),
    ...malformed,
  },
  { what: 'HTTP/2', steps: send(Buffer.from('00001204000000000000030000006400', 'hex')), ...malformed },
  {
    what: 'a NUL in a header',
    steps: send(`${JSON_HEAD}x-nul: a\0b\r\ncontent-length: 2\r\n\r\n{}`),
    ...malformed,
  },
  {
    what: 'one header of 40 KB',
    steps: send(`${JSON_HEAD}x-long: ${'x'.repeat(40_000)}\r\n\r\n{}`),
    exitCode: 4,
    code: 'response_invalid',
    requests: 5,
    says: /too many headers/,
  },
  {
    what: '2,000 headers',
    steps: send(`${JSON_HEAD}${Array.from({ length: 2_000 }, (_, n) => `x-${n}: ${n}\r\n`).join('')}\r\n{}`),
    exitCode: 4,
    code: 'response_invalid',
    requests: 5,
    says: /too many headers/,
  },
  {
    what: 'headers without an end',
    steps: () => [{ send: JSON_HEAD }, { flood: `x-more: ${'y'.repeat(1_000)}\r\n` }],
    exitCode: 4,
    code: 'response_invalid',
    requests: 5,
    says: /too many headers/,
  },
];

/** What the body is. */
export const bodyFaults: readonly WireFault[] = [
  { what: 'gzip cut in the middle', steps: gzipped(half), ...corrupt },
  {
    what: 'gzip without its trailer',
    steps: gzipped((bytes) => bytes.subarray(0, -8)),
    ...corrupt,
  },
  { what: 'gzip with a wrong checksum', steps: gzipped((bytes) => flipBit(bytes, -8)), ...corrupt },
  { what: 'gzip with a wrong length', steps: gzipped((bytes) => flipBit(bytes, -1)), ...corrupt },
  {
    what: 'a body that is labelled gzip and is not',
    steps: change(() => ({ headers: { 'content-encoding': 'gzip' } })),
    ...corrupt,
  },
  {
    what: 'gzip that is not labelled',
    steps: change((healthy) => ({ body: gzipSync(healthy.body) })),
    ...unreadable,
    says: /the body is not UTF-8 text/,
  },
  {
    what: 'an encoding that was not requested',
    steps: change((healthy) => ({
      headers: { 'content-encoding': 'deflate' },
      body: deflateSync(healthy.body),
    })),
    ...refused,
    says: /an encoding that was not requested.*deflate/,
  },
  {
    what: 'six encodings over each other',
    steps: change((healthy) => ({
      headers: { 'content-encoding': Array<string>(6).fill('gzip').join(', ') },
      body: Array(6)
        .fill(0)
        .reduce<Buffer>((bytes) => gzipSync(bytes), Buffer.from(healthy.body)),
    })),
    ...refused,
    says: /an encoding that was not requested.*gzip, gzip/,
  },
  {
    what: 'a bomb: 4 MB in 4 KB of gzip',
    steps: change(() => ({
      headers: { 'content-encoding': 'gzip' },
      body: gzipSync(Buffer.alloc(4_000_000, 0x20)),
    })),
    ...refused,
    says: /a body beyond the limit.*decompressed body is larger than 1000000 bytes/,
    limits: { maxBytes: 1_000_000 },
  },
  {
    what: 'white space without an end',
    steps: () => [{ send: `${JSON_HEAD}\r\n` }, { flood: ' '.repeat(100_000) }],
    ...refused,
    says: /a body beyond the limit.*body is larger than 1000000 bytes/,
    limits: { maxBytes: 1_000_000 },
  },
  {
    what: 'records without an end',
    steps: () => [{ send: `${JSON_HEAD}\r\n{"data":[{}` }, { flood: ',{"id":1}'.repeat(10_000) }],
    ...refused,
    says: /a body beyond the limit/,
    limits: { maxBytes: 1_000_000 },
  },
  {
    what: 'a page to sign in',
    steps: change(() => ({
      headers: { 'content-type': 'text/html; charset=utf-8' },
      body: '<!doctype html><title>Sign in</title>',
    })),
    ...unreadable,
    says: /starts: <!doctype html><title>Sign in.*content-type text\/html/,
  },
  {
    what: 'a page to sign in that is labelled JSON',
    steps: change(() => ({ body: '<!doctype html><title>Sign in</title>' })),
    ...unreadable,
    says: /starts: <!doctype html>/,
  },
  { what: 'an empty body', steps: change(() => ({ body: '' })), ...unreadable, says: /the body is empty/ },
  {
    what: '204 No Content',
    steps: send('HTTP/1.1 204 No Content\r\n\r\n'),
    ...unreadable,
    says: /status 204.*the body is empty/,
  },
  {
    what: 'bytes that are not UTF-8',
    steps: change((healthy) => ({
      body: Buffer.concat([
        Buffer.from('{"x":"'),
        Buffer.from([0xff]),
        Buffer.from(`",${text(healthy).slice(1)}`),
      ]),
    })),
    ...unreadable,
    says: /not UTF-8/,
  },
  {
    what: 'Latin-1',
    steps: change((healthy) => ({
      headers: { 'content-type': 'application/json; charset=iso-8859-1' },
      body: Buffer.from(`{"café":1,${text(healthy).slice(1)}`, 'latin1'),
    })),
    ...unreadable,
    says: /not UTF-8.*iso-8859-1/,
  },
  {
    what: 'UTF-16',
    steps: change((healthy) => ({
      headers: { 'content-type': 'application/json; charset=utf-16le' },
      body: Buffer.from(text(healthy), 'utf16le'),
    })),
    ...unreadable,
    says: /the body is not JSON/,
  },
  {
    what: 'half a document',
    steps: change((healthy) => ({ body: half(healthy.body) })),
    ...unreadable,
    says: /the body is not JSON/,
  },
  {
    what: 'a document and a half',
    steps: change((healthy) => ({ body: `${text(healthy)}{"data":[` })),
    ...unreadable,
    says: /the body is not JSON/,
  },
];
