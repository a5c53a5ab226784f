import { describe, expect, it } from 'vitest';
import { runCheck } from '../support/run-check.ts';
import { createItemsFlow, makeItems } from '../support/sync-harness.ts';

describe('check of the fields that config names', () => {
  it.each([
    ['a key, on the first of many pages', 250, { key: ['idd'] }, 'key names idd'],
    ['a key, on the only page', 20, { key: ['id', 'dated'] }, 'key names dated'],
    ['a cursor, on the only page', 20, { cursor: { field: 'dated', param: 'from' } }, 'cursor names dated'],
    ['a key of an unpaginated stream', 20, { key: ['idd'], paginated: false }, 'key names idd'],
  ])('fails like a sync for %s', async (_, rows, stream, words) => {
    const flow = createItemsFlow(makeItems(rows), { stream });
    const { report, found } = await runCheck(flow, 'items');
    expect(found?.status).toBe('failed');
    expect(found?.fix).toMatch(/Fields of this stream: id, /);
    expect(found?.detail).toContain(words);
    const { exitCode, streams } = await flow.sync();
    expect(report).toMatchObject({ ok: false, exitCode, error: { code: streams[0]?.error?.code } });
    expect(streams[0]?.error?.message.replaceAll('"', '')).toContain(words);
  });

  it('warns of a cursor that later pages may have, and decides nothing by an empty page', async () => {
    const cursor = { field: 'dated', param: 'from' };
    const flow = createItemsFlow(makeItems(250), { stream: { cursor } });
    const { report } = await runCheck(flow, 'items');
    expect(report).toMatchObject({ ok: true, exitCode: 0 });
    expect(report.items).toContainEqual(
      expect.objectContaining({
        status: 'warning',
        detail: expect.stringMatching(/cursor names dated/) as string,
      }),
    );
    const empty = createItemsFlow([], { stream: { key: ['idd'], cursor } });
    expect((await runCheck(empty, 'items')).report).toMatchObject({ ok: true, exitCode: 0 });
  });
});
