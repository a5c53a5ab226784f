import type { Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { buildResponse, createRawServer, type RawRequest } from '../../support/raw-server.ts';

/** One thing a server does with the socket that a request came on. */
export type Step =
  | { readonly send: Buffer | string }
  /** A byte at a time. */
  | { readonly drip: Buffer | string; readonly everyMs: number }
  /** Again and again, for as long as the other side reads. */
  | { readonly flood: Buffer | string; readonly everyMs?: number }
  | { readonly waitMs: number }
  | 'fin'
  | 'rst'
  /** Nothing more, and the connection stays. */
  | 'hang';

/** A request as it arrived. */
export interface WireRequest {
  /** Counts over all connections, from 0. */
  readonly n: number;
  readonly connection: number;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Monotonic, µs. */
  readonly atUs: number;
}

/** An answer before it becomes bytes. */
export interface WireAnswer {
  readonly status?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

/** What becomes of a request in place of its healthy answer; undefined leaves it as it is. */
export type Misbehaviour = (request: WireRequest, healthy: WireAnswer) => readonly Step[] | undefined;

export interface WireServer {
  readonly origin: string;
  readonly baseUrl: string;
  readonly port: number;
  readonly arrivals: readonly WireRequest[];
  readonly connectionCount: number;
  /** Replaces what becomes of requests from now on. */
  misbehave(how: Misbehaviour | undefined): void;
  close(): Promise<void>;
}

export interface WireServerOptions {
  readonly serve: (request: WireRequest) => WireAnswer;
  readonly misbehave?: Misbehaviour;
  /** Certificate and key; plain HTTP without. */
  readonly tls?: TlsOptions;
  /** What it does with a connection before any request. */
  readonly onConnection?: (socket: Socket) => void;
}

/** A server on a free port of this machine that answers as it should, and as badly as a test wants. */
export async function startWireServer(options: WireServerOptions): Promise<WireServer> {
  const arrivals: WireRequest[] = [];
  let { misbehave } = options;
  const answer = (raw: RawRequest) => {
    const request = parseRequest(raw);
    arrivals.push(request);
    const healthy = options.serve(request);
    const steps = misbehave?.(request, healthy) ?? [{ send: toBytes(healthy) }];
    void play(raw.socket, steps);
  };
  const server = await createRawServer(answer, options.onConnection, options.tls);
  const origin = `${options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${server.port}`;
  return {
    origin,
    baseUrl: `${origin}/api/v1`,
    port: server.port,
    arrivals,
    get connectionCount() {
      return server.connectionCount;
    },
    misbehave(how) {
      misbehave = how;
    },
    close: () => server.close(),
  };
}

/** An answer as the bytes of HTTP/1.1. */
export function toBytes({ status, headers, body }: WireAnswer): Buffer {
  return buildResponse(body, headers, status);
}

async function play(socket: Socket, steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    if (socket.destroyed) return;
    if (step === 'hang') return;
    if (step === 'fin') socket.end();
    else if (step === 'rst') socket.resetAndDestroy();
    else if ('waitMs' in step) await wait(step.waitMs);
    else if ('send' in step) await write(socket, step.send);
    else if ('drip' in step) await drip(socket, Buffer.from(step.drip), step.everyMs);
    else await flood(socket, step.flood, step.everyMs);
  }
}

async function drip(socket: Socket, bytes: Buffer, everyMs: number): Promise<void> {
  for (const byte of bytes) {
    if (socket.destroyed) return;
    await write(socket, Buffer.from([byte]));
    await wait(everyMs);
  }
}

async function flood(socket: Socket, bytes: Buffer | string, everyMs: number | undefined): Promise<void> {
  while (!socket.destroyed) {
    await write(socket, bytes);
    if (everyMs !== undefined) await wait(everyMs);
  }
}

// Resolves also when the connection is gone: there is nothing left to do then.
function write(socket: Socket, bytes: Buffer | string): Promise<void> {
  return new Promise((resolve) => {
    socket.write(bytes, () => resolve());
  });
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function parseRequest({ n, connection, head, atUs }: RawRequest): WireRequest {
  const [line = '', ...fields] = head.split('\r\n');
  const [method = '', target = ''] = line.split(' ');
  const [path = '', query = ''] = target.split('?');
  const headers = fields.map((field) => {
    const colon = field.indexOf(':');
    return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()] as const;
  });
  return {
    n,
    connection,
    method,
    path,
    query: new URLSearchParams(query),
    headers: Object.fromEntries(headers),
    atUs,
  };
}
