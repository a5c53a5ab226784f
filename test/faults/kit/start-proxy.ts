import { connect, type Socket } from 'node:net';
import { createRawServer, type RawRequest } from '../../support/raw-server.ts';
import type { Certificate } from './make-certificate.ts';

export interface Proxy {
  readonly url: string;
  /** Heads of the requests it got, the first line first. */
  readonly heads: readonly string[];
  /** Everything that clients sent through its tunnels. */
  relayed(): Buffer;
  close(): Promise<void>;
}

/** A forward proxy that opens tunnels to this machine and keeps what goes through them. */
export async function startProxy(
  answer: (socket: Socket, open: () => void) => void = (_, open) => open(),
  certificate?: Certificate,
): Promise<Proxy> {
  const relayed: Buffer[] = [];
  const tunnels = new Set<Socket>();
  const take = ({ head, socket }: RawRequest) => {
    const target = /^CONNECT ([^ :]+):(\d+) /.exec(head);
    answer(socket, () => {
      if (target === null) {
        socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
        return;
      }
      const upstream = connect(Number(target[2]), '127.0.0.1', () => {
        socket.removeAllListeners('data');
        socket.on('data', (chunk) => relayed.push(chunk));
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        socket.pipe(upstream).pipe(socket);
      });
      tunnels.add(upstream);
      upstream.on('error', () => socket.destroy());
      socket.on('close', () => upstream.destroy());
    });
  };
  const server = await createRawServer(take, undefined, certificate && { ...certificate });
  return {
    url: certificate === undefined ? `http://127.0.0.1:${server.port}` : `https://localhost:${server.port}`,
    get heads() {
      return server.requests.map(({ head }) => head);
    },
    relayed: () => Buffer.concat(relayed),
    async close() {
      for (const tunnel of tunnels) tunnel.destroy();
      await server.close();
    },
  };
}
