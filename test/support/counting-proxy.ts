import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a server that answers no more says instead. */
export interface Refusal {
  readonly status: number;
  readonly body: string;
}

/** Kinds of requests that stores have prices for. A copy and each part of an upload is a PUT. */
export type RequestKind = 'PUT' | 'GET' | 'LIST' | 'DELETE';

export type RequestCounts = Readonly<Record<RequestKind, number>>;

/** From when on what is refused. */
export interface RefusedFrom {
  /** So many requests, or changes (PUT, DELETE), are passed on before. */
  readonly after: number;
  readonly of: 'requests' | 'changes';
  readonly what: Refusal;
  /** Whether what changes nothing is still answered. */
  readonly isRead?: boolean;
}

/** Passes requests on to a server and counts them; it may refuse them at some point, as a store that is full does. */
export interface CountingProxy {
  /** `127.0.0.1:port` */
  readonly host: string;
  /** Requests since the last call of `restart`. */
  readonly counts: RequestCounts;
  /** Counts from here on, and refuses from some point on; by default nothing. */
  restart(refuse?: RefusedFrom): void;
  stop(): Promise<void>;
}

export async function startCountingProxy(target: string): Promise<CountingProxy> {
  let counts = { PUT: 0, GET: 0, LIST: 0, DELETE: 0 };
  let refuse: RefusedFrom | undefined;
  const server = createServer((incoming, outgoing) => {
    const kind = findKind(incoming);
    counts[kind] += 1;
    const isChange = kind === 'PUT' || kind === 'DELETE';
    const changes = counts.PUT + counts.DELETE;
    const seen = refuse?.of === 'changes' ? changes : changes + counts.GET + counts.LIST;
    if (refuse !== undefined && seen > refuse.after && (isChange || refuse.isRead !== true))
      answer(incoming, outgoing, refuse.what);
    else pass(`http://${target}`, incoming, outgoing);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    host: `127.0.0.1:${port}`,
    get counts() {
      return counts;
    },
    restart(given) {
      counts = { PUT: 0, GET: 0, LIST: 0, DELETE: 0 };
      refuse = given;
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function findKind({ method = 'GET', url = '/' }: IncomingMessage): RequestKind {
  if (method === 'DELETE' || (method === 'POST' && /[?&]delete\b/.test(url))) return 'DELETE';
  if (method === 'PUT' || method === 'POST') return 'PUT';
  return /[?&]list-type=/.test(url) ? 'LIST' : 'GET';
}

function answer(incoming: IncomingMessage, outgoing: ServerResponse, { status, body }: Refusal): void {
  incoming.resume();
  incoming.once('end', () => {
    outgoing.writeHead(status, {
      'content-type': body.startsWith('<') ? 'application/xml' : 'application/json',
    });
    outgoing.end(incoming.method === 'HEAD' ? undefined : body);
  });
}

function pass(target: string, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { method = 'GET', headers, url = '/' } = incoming;
  // The host stays as it is: it is part of what is signed.
  const passed = request(`${target}${url}`, { method, headers }, (reply) => {
    outgoing.writeHead(reply.statusCode ?? 500, reply.headers);
    reply.pipe(outgoing);
  });
  passed.once('error', () => incoming.socket.destroy());
  incoming.pipe(passed);
}

/** What an object store says, as XML. */
export function describeStoreError(status: number, code: string, message: string): Refusal {
  const body = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`;
  return { status, body };
}

/** What an Iceberg catalog says. */
export function describeCatalogError(status: number, type: string): Refusal {
  return { status, body: JSON.stringify({ error: { message: 'not now', type, code: status } }) };
}
