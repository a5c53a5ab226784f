import { expect, it } from 'vitest';
import { warnOfQueue } from '../../../src/cli/fleet/warn-of-queue.ts';
import type { WorkerEvent } from '../../../src/fleet/worker/worker-events.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

it('says what goes on once in ten minutes, other things at once, and nothing while the worker stops', async () => {
  const clock = createVirtualClock();
  const stop = new AbortController();
  const events: WorkerEvent[] = [];
  const warn = warnOfQueue({ clock, signal: stop.signal, onEvent: (event) => void events.push(event) });
  const away = new Error('the database is away');
  for (let at = 0; at < 100; at += 1) {
    warn(away);
    await clock.sleep(5_000);
  }
  warn(new Error('a table is missing'));
  await clock.sleep(100_000);
  warn(away);
  stop.abort();
  warn(new Error('the pool has ended'));
  const said = (what: string) => ({ type: 'warning', message: `the queue: ${what}` });
  expect(events).toEqual(['the database is away', 'a table is missing', 'the database is away'].map(said));
});
