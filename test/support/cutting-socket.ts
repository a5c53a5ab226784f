import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Passes what programs and a server say to each other on, and cuts all connections at one of the messages. */
export interface CuttingSocket {
  readonly port: number;
  /** Messages of programs since the last call of `cutAt`. */
  readonly messages: number;
  /**
   * Cuts this message: before the server gets it, or before its answer is passed on; undefined: none. `end` does what
   * has to be done instead, e.g. kills the program.
   */
  cutAt(message: number | undefined, when?: 'before' | 'after', end?: () => void): void;
  stop(): Promise<void>;
}

interface Cut {
  readonly at: number;
  readonly when: 'before' | 'after';
  readonly end: () => void;
}

export async function startCuttingSocket(target: number): Promise<CuttingSocket> {
  let messages = 0;
  let cut: Cut | undefined;
  const sockets = new Set<Socket>();
  const cutAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  const server = createServer((program) => {
    const passed = connect(target, '127.0.0.1');
    for (const [one, other] of [
      [program, passed],
      [passed, program],
    ] as const) {
      sockets.add(one);
      one.on('error', () => undefined);
      one.once('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
    let isLast = false;
    program.on('data', (data) => {
      messages += 1;
      isLast = cut !== undefined && messages > cut.at;
      if (isLast && cut?.when === 'before') cut.end();
      else passed.write(data);
    });
    passed.on('data', (data) => {
      if (isLast) cut?.end();
      else program.write(data);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    get messages() {
      return messages;
    },
    cutAt(message, when = 'before', end = cutAll) {
      messages = 0;
      cut = message === undefined ? undefined : { at: message, when, end };
    },
    async stop() {
      cutAll();
      server.close();
      await once(server, 'close');
    },
  };
}
