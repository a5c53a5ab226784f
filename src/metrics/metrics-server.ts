import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ConfigError } from '../model/errors.ts';

/** An answer of one of the paths. */
export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a path is told of a request. */
export interface PathRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
}

type FindAnswer = (request: PathRequest) => Answer | Promise<Answer>;

export interface MetricsServerOptions {
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
  /** What stands at each path, e.g. `/metrics`; one that ends with `*` has all paths that begin so. */
  readonly paths: Readonly<Record<string, FindAnswer>>;
  /** The options that name port and host, for what is said where it cannot listen. */
  readonly flags?: { readonly port: string; readonly host: string };
}

/** A server that is listening. */
export interface MetricsServer {
  /** Address without a path. */
  readonly origin: string;
  /** Ends at once: open connections are closed, not awaited. */
  close(): Promise<void>;
}

const TIMEOUT_MS = 5_000;
const MOST_CONNECTIONS = 64;
const MOST_HEADER_BYTES = 8_192;

/** Serves a few read-only paths; throws a ConfigError (2) where it cannot listen. */
export async function startMetricsServer(options: MetricsServerOptions): Promise<MetricsServer> {
  const { host, port, paths } = options;
  const server = createServer(
    {
      maxHeaderSize: MOST_HEADER_BYTES,
      requestTimeout: TIMEOUT_MS,
      headersTimeout: TIMEOUT_MS,
      keepAliveTimeout: TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_MS / 5,
    },
    (request, response) => {
      answer(request, paths).then(
        (found) => send(request, response, found),
        () => send(request, response, { status: 500, type: 'text/plain', body: 'internal error\n' }),
      );
    },
  );
  server.maxConnections = MOST_CONNECTIONS;
  // The loop keeps the process alive; this server alone does not.
  server.unref();
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(describeRefusal(options, error)));
    server.listen({ host, port }, resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  return {
    origin: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(request: IncomingMessage, paths: MetricsServerOptions['paths']): Promise<Answer> {
  // A body is none of our business; unread it would keep the connection.
  request.resume();
  const { method, url = '/', headers } = request;
  const [path = '', query = ''] = url.split('?', 2);
  const find = findPath(paths, path);
  if (find === undefined) return { status: 404, type: 'text/plain', body: 'not found\n' };
  if (method !== 'GET' && method !== 'HEAD')
    return { status: 405, type: 'text/plain', body: 'only GET and HEAD\n' };
  return find({ path, query: new URLSearchParams(query), headers });
}

function findPath(paths: MetricsServerOptions['paths'], path: string): FindAnswer | undefined {
  if (Object.hasOwn(paths, path)) return paths[path];
  const begun = Object.keys(paths).find((one) => one.endsWith('*') && path.startsWith(one.slice(0, -1)));
  return begun === undefined ? undefined : paths[begun];
}

function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, type, body, headers }: Answer,
): void {
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(status === 405 && { allow: 'GET, HEAD' }),
    ...headers,
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

function describeRefusal(
  { host, port, flags = { port: '--metrics-port', host: '--metrics-host' } }: MetricsServerOptions,
  cause: NodeJS.ErrnoException,
): ConfigError {
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: 'another program uses that port',
    EACCES: 'this user may not use that port',
    EADDRNOTAVAIL: 'this machine has no such address',
    ENOTFOUND: 'there is no such host',
  };
  const reason = reasons[cause.code ?? ''] ?? cause.code ?? 'unknown error';
  return new ConfigError(`cannot listen on ${host} port ${port}: ${reason}`, {
    code: 'usage_invalid',
    hint: `Choose another ${flags.port} (0 for any free one) or ${flags.host}. Nothing was requested.`,
    cause,
  });
}
