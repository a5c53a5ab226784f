import type { Transport } from '../model/http.ts';

/** Opens a transport with its first request: a sync with nothing to ask must not pay for loading one. */
export function createLazyTransport(open: () => Promise<Transport>): Transport {
  let opened: Promise<Transport> | undefined;
  return {
    async send(request) {
      opened ??= open();
      return (await opened).send(request);
    },
    async close() {
      await (await opened)?.close();
    },
  };
}
