import { describe, expect, it } from 'vitest';
import { createLazyTransport } from '../../src/http/lazy-transport.ts';
import type { Transport } from '../../src/model/http.ts';

function createCounted() {
  const calls: string[] = [];
  const transport: Transport = {
    send: ({ url }) => {
      calls.push(`send ${url.pathname}`);
      return Promise.resolve({ status: 200, headers: {}, body: Buffer.from('') });
    },
    close: () => {
      calls.push('close');
      return Promise.resolve();
    },
  };
  const lazy = createLazyTransport(() => {
    calls.push('open');
    return Promise.resolve(transport);
  });
  return { calls, lazy };
}

describe('a transport that opens with its first request', () => {
  it('is not opened to be closed', async () => {
    const { calls, lazy } = createCounted();
    await lazy.close();
    expect(calls).toEqual([]);
  });

  it('is opened once for requests that come together, and closed', async () => {
    const { calls, lazy } = createCounted();
    await Promise.all(
      ['/a', '/b'].map((path) => lazy.send({ url: new URL(path, 'http://localhost'), headers: {} })),
    );
    await lazy.close();
    expect(calls).toEqual(['open', 'send /a', 'send /b', 'close']);
  });
});
