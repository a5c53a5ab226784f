import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Stands before a server: passes bytes on, refuses everybody for a while, or holds what a client says. */
export class Gate {
  /** Called with each message of a client before it is passed on, which waits for the promise. */
  onMessage: (() => Promise<void>) | undefined;
  readonly #targetPort: number;
  readonly #sockets = new Set<Socket>();
  #isOpen = true;
  readonly #server = createServer((client) => {
    this.#join(client);
  });

  constructor(targetPort: number) {
    this.#targetPort = targetPort;
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Cuts all connections, and refuses new ones until it is opened again. */
  close(): void {
    this.#isOpen = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  open(): void {
    this.#isOpen = true;
  }

  stop(): void {
    this.close();
    this.#server.close();
  }

  #join(client: Socket): void {
    if (!this.#isOpen) {
      client.destroy();
      return;
    }
    const server = connect(this.#targetPort, '127.0.0.1');
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(one);
      one.setNoDelay(true);
      one.on('error', () => undefined);
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
    server.pipe(client);
    void this.#passOn(client, server);
  }

  async #passOn(client: Socket, server: Socket): Promise<void> {
    try {
      for await (const chunk of client) {
        await this.onMessage?.();
        if (!server.write(chunk as Buffer)) await once(server, 'drain');
      }
      server.end();
    } catch {
      // One of the ends is gone, and both are closed.
    }
  }
}
