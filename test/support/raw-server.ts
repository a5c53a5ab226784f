import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';

/** A request as it came over a socket. */
export interface RawRequest {
  /** Counts over all connections, from 0. */
  readonly n: number;
  /** Which connection it came on, from 0. */
  readonly connection: number;
  readonly head: string;
  readonly socket: Socket;
  /** When its last byte was here, µs of the process's monotonic clock. */
  readonly atUs: number;
}

export interface RawServer {
  readonly port: number;
  readonly requests: readonly RawRequest[];
  readonly connectionCount: number;
  close(): Promise<void>;
}

/** A server on a free port of this machine that does with its sockets exactly what the test says. */
export async function createRawServer(
  answer: (request: RawRequest) => void,
  onConnection: (socket: Socket) => void = () => {},
  tls?: TlsOptions,
): Promise<RawServer> {
  const requests: RawRequest[] = [];
  const sockets = new Set<Socket>();
  let connectionCount = 0;
  const accept = (socket: Socket) => {
    const connection = connectionCount++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    onConnection(socket);
    let pending = '';
    socket.on('data', (chunk) => {
      pending += chunk.toString('latin1');
      for (let end = pending.indexOf('\r\n\r\n'); end !== -1; end = pending.indexOf('\r\n\r\n')) {
        const atUs = Math.round(performance.now() * 1000);
        const request = { n: requests.length, connection, head: pending.slice(0, end), socket, atUs };
        pending = pending.slice(end + 4);
        requests.push(request);
        answer(request);
      }
    });
  };
  const server = tls === undefined ? createServer(accept) : createTlsServer(tls, accept);
  // A handshake that fails is the client's to tell.
  server.on('tlsClientError', () => {});
  await listen(server);
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    get connectionCount() {
      return connectionCount;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function listen(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
}

/** The bytes of an HTTP/1.1 response; `content-length` is set unless a header says otherwise. */
export function buildResponse(
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
  status = '200 OK',
): Buffer {
  const bytes = Buffer.from(body);
  const framed = 'content-length' in headers || 'transfer-encoding' in headers || 'connection' in headers;
  const all = framed ? headers : { ...headers, 'content-length': String(bytes.length) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n`), bytes]);
}
