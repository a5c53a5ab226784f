import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Passes requests on to a server, and cuts the connection at one of them, as a network or a kill would. */
export interface CuttingProxy {
  /** `http://127.0.0.1:port` */
  readonly url: string;
  /** Changes (POST, PUT, DELETE) since the last call of `cutAt`. */
  readonly changes: number;
  /** Cuts every change from this one on; undefined: none. Before it is sent, or before its answer is. */
  cutAt(change: number | undefined, when?: 'before' | 'after'): void;
  stop(): Promise<void>;
}

export async function startCuttingProxy(target: string): Promise<CuttingProxy> {
  let changes = 0;
  let cut: { readonly at: number; readonly when: 'before' | 'after' } | undefined;
  const server = createServer((incoming, outgoing) => {
    const isChange = incoming.method !== 'GET' && incoming.method !== 'HEAD';
    if (isChange) changes += 1;
    const isCut = isChange && cut !== undefined && changes > cut.at;
    if (isCut && (cut?.when === 'before' || changes > (cut?.at ?? 0) + 1)) {
      incoming.socket.destroy();
      return;
    }
    const { method = 'GET', headers, url = '/' } = incoming;
    const passed = request(`${target}${url}`, { method, headers }, (answer) => {
      if (isCut) {
        answer.resume();
        answer.once('end', () => incoming.socket.destroy());
        return;
      }
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    passed.once('error', () => incoming.socket.destroy());
    incoming.pipe(passed);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    get changes() {
      return changes;
    },
    cutAt(change, when = 'before') {
      changes = 0;
      cut = change === undefined ? undefined : { at: change, when };
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
