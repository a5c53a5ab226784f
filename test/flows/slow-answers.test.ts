import { describe, expect, it } from 'vitest';
import { type Transport, TransportFault } from '../../src/model/http.ts';
import { runChecks } from '../../src/commands/check.ts';
import { discover } from '../../src/commands/discover/discover.ts';
import { planSync } from '../../src/commands/plan/plan.ts';
import { createItemsFlow, type Flow, noBuiltIns } from '../support/sync-harness.ts';

const HEADERS = { 'content-type': 'application/json' };

/** An answer without an end: so much of it a second. */
function createDrip(flow: () => Flow, next: (second: number) => string) {
  const seen = { seconds: 0, mostMs: undefined as number | undefined };
  const transport: Transport = {
    async send(request) {
      request.onHead?.({ status: 200, headers: HEADERS });
      seen.mostMs = request.body?.mostMs;
      async function* drip() {
        for (;;) {
          await flow().clock.sleep(1_000);
          // A reader that still reads after an hour reads for ever.
          if (seen.seconds > 3_600) throw new TransportFault('timeout', 'an hour', { sent: true });
          yield Buffer.from(next(seen.seconds++));
        }
      }
      await request.sink?.(drip());
      return { status: 200, headers: HEADERS, body: Buffer.alloc(0) };
    },
    close: () => Promise.resolve(),
  };
  return { transport, seen };
}

function createSlow(next: (second: number) => string) {
  const { transport, seen } = createDrip(() => flow, next);
  const flow: Flow = createItemsFlow([], { stream: { paginated: false, cursor: false }, transport });
  const settings = flow.settings({ streams: { ...noBuiltIns, items: { path: 'items', paginated: false } } });
  return { settings, options: { clock: flow.clock, transport }, seen };
}

const SLOW = /^its answer had not ended after 1 min and [\d,]+ bytes; .* unless --deadline ends it$/;

describe('an unpaginated answer that comes drop by drop for ever', () => {
  const records = (second: number) => (second === 0 ? '{"data":[{"id":0}' : `,{"id":${second}}`);

  it('is given up by check after a minute, with a warning', async () => {
    const { settings, options, seen } = createSlow(records);
    const { items, exitCode } = await runChecks(settings, options);
    expect(items.filter(({ name }) => name === 'items')).toEqual([
      { name: 'items', status: 'ok', detail: 'items: a slow answer', fix: undefined },
      { name: 'items', status: 'warning', detail: expect.stringMatching(SLOW) as string, fix: undefined },
    ]);
    expect([exitCode, seen.seconds, seen.mostMs]).toEqual([0, 60, 120_000]);
  });

  it('is given up by plan, which says so', async () => {
    const { settings, options, seen } = createSlow(records);
    const { streams } = await planSync(settings, options);
    expect(streams).toMatchObject([{ action: 'full', rows: undefined, requests: 1, error: undefined }]);
    expect(streams[0]?.note?.split('; its answer').at(-1)).toMatch(/had not ended after 1 min/);
    expect(seen.seconds).toBe(60);
  });

  it('is sampled by discover as far as it came', async () => {
    const { settings, options, seen } = createSlow((second) =>
      second < 30 ? records(second) : second === 30 ? ']' : ' ',
    );
    const { streams } = await discover(settings, options);
    expect(streams).toMatchObject([
      { status: 'sampled', sample: { records: 30, isWhole: false }, notes: [expect.stringMatching(SLOW)] },
    ]);
    expect(seen.seconds).toBe(60);
  });

  it('is refused at once where it can be no data', async () => {
    const { settings, options, seen } = createSlow(() => 'not JSON ');
    const { error } = await runChecks(settings, options);
    expect(error).toMatchObject({ code: 'page_unreadable', exitCode: 4 });
    expect(seen.seconds).toBeLessThan(3);
  });
});
