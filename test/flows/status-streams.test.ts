import { expect, it } from 'vitest';
import { planOffline } from '../../src/commands/plan/plan.ts';
import { resetState } from '../../src/commands/state/change-state.ts';
import { readStatus } from '../../src/commands/status.ts';
import { when } from '../../src/simulator/faults.ts';
import { errorStatus } from '../../src/simulator/fault-effects.ts';
import { renderStatus } from '../../src/render/render-status.ts';
import { createFlow, type Flow, streamOf } from '../support/sync-harness.ts';

const FIRST = 'prompts_analytics';
const SECOND = 'visibility_mentions';

async function show(flow: Flow) {
  const nowMs = flow.clock.now();
  const status = await readStatus(flow.settings(), nowMs);
  const shown = renderStatus(status, { nowMs, columns: undefined });
  const lineOf = (stream: string) => shown.split('\n').find((line) => line.includes(stream)) ?? '';
  return { status, shown, lineOf };
}

/** A published file, and then a stream whose publish a signal ended. */
async function stopBeforePublish(): Promise<Flow> {
  const flow = createFlow();
  await flow.sync({ streams: [FIRST] });
  const stop = new AbortController();
  const report = await flow.sync({
    streams: [SECOND],
    signal: stop.signal,
    onProgress: ({ type }) => {
      if (type === 'publishing') stop.abort();
    },
  });
  expect(report).toMatchObject({ exitCode: 130, published: undefined });
  expect(streamOf(report, SECOND)).toMatchObject({ status: 'complete' });
  return flow;
}

it('says that rows are committed and not published yet, until they are', async () => {
  const flow = await stopBeforePublish();
  const { shown, lineOf } = await show(flow);
  expect(lineOf(SECOND)).toContain('committed');
  expect(lineOf(FIRST)).toContain('verified');
  expect(shown).toContain(`${SECOND} is committed, but not published yet: the next sync publishes it.`);
  await flow.sync({ streams: [SECOND] });
  const later = await show(flow);
  expect(later.lineOf(SECOND)).toContain('verified');
  expect(later.shown).not.toContain('not published yet');
});

it('plans from what is committed and not published yet, as the next sync does', async () => {
  const flow = await stopBeforePublish();
  const options = { streams: [SECOND], clock: flow.clock };
  expect((await planOffline(flow.settings(), options)).streams).toMatchObject([{ action: 'skip-fresh' }]);
  expect(streamOf(await flow.sync({ streams: [SECOND] }), SECOND)).toMatchObject({ status: 'fresh' });
});

it('shows the rows of a stream whose state was reset, and that the next sync reads everything', async () => {
  const flow = createFlow();
  await flow.sync({ streams: [FIRST, SECOND] });
  const confirm = () => Promise.resolve(true);
  await resetState(flow.settings(), { streams: [FIRST], confirm, clock: flow.clock });
  const { status, shown, lineOf } = await show(flow);
  const held = (await flow.rows(FIRST)).length;
  expect(status.streams.find(({ stream }) => stream === FIRST)).toMatchObject({ isReset: true, rows: held });
  expect(lineOf(FIRST)).toMatch(/ reset /);
  expect(shown).toContain(
    `The state of ${FIRST} was reset: the rows are still there, and the next sync reads everything.`,
  );
  expect(status.streams.filter(({ isReset }) => isReset)).toHaveLength(1);
  await flow.sync({ streams: [FIRST] });
  expect((await show(flow)).shown).not.toContain('was reset');
});

it('calls a stream that the API does not offer unavailable, as the sync does', async () => {
  const flow = createFlow();
  flow.simulator.setFaults([when({ path: 'commerce/top-products' }, errorStatus(404, 'No such endpoint.'))]);
  const report = await flow.sync();
  expect(streamOf(report, 'commerce_top_products').status).toBe('unavailable');
  const { shown, lineOf } = await show(flow);
  expect(lineOf('commerce_top_products')).toContain('unavailable');
  expect(shown).toContain('Not offered by the API (404): commerce_top_products.');
  flow.simulator.setFaults([]);
  await flow.sync({ force: true });
  expect((await show(flow)).shown).not.toContain('unavailable');
});
