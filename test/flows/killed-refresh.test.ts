import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createItemsFlow, makeItems, streamOf } from '../support/sync-harness.ts';

describe('a full refresh that was killed', () => {
  it('is resumed by the next run, however fresh the stream is', async () => {
    const flow = createItemsFlow(makeItems(400), { endpoint: { dateField: 'date' } });
    expect(await flow.sync()).toMatchObject({ exitCode: 0 });
    flow.clock.stepWall(60_000);
    // What a kill leaves: the pages, and no word of the run.
    const kept = `${flow.stateDir}.kept`;
    cpSync(flow.stateDir, kept, { recursive: true });
    expect(await flow.sync({ fullRefresh: true, maxRequests: 3 })).toMatchObject({ exitCode: 75 });
    cpSync(join(flow.stateDir, 'stage'), join(kept, 'stage'), { recursive: true });
    rmSync(flow.stateDir, { recursive: true });
    cpSync(kept, flow.stateDir, { recursive: true });

    const report = await flow.sync();
    expect(streamOf(report)).toMatchObject({ status: 'complete', mode: 'full', verdict: 'verified' });
    // Less than reading it again, and no more after that.
    expect(report.requests).toBeLessThanOrEqual(4);
    expect(streamOf(await flow.sync())).toMatchObject({ status: 'fresh' });
  });
});
