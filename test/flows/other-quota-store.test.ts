import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { OpenQuotaStore } from '../../src/model/quota.ts';
import { createMemoryQuotaStore } from '../../state/memory-quota-store.ts';
import { createItemsFlow, makeItems } from '../support/sync-harness.ts';

it('a sync keeps its quota where its caller says, and tells of a failure in the middle', async () => {
  const flow = createItemsFlow(() => makeItems(460));
  const opened: Parameters<OpenQuotaStore>[0][] = [];
  let isClosed = false;
  let changes = 0;
  const openQuotaStore: OpenQuotaStore = (key) => {
    opened.push(key);
    const memory = createMemoryQuotaStore();
    return {
      get warning() {
        return changes > 3 ? 'the quota is not shared' : undefined;
      },
      update(change) {
        changes += 1;
        return memory.update(change);
      },
      close() {
        isClosed = true;
        return Promise.resolve();
      },
    };
  };
  const report = await flow.sync({ openQuotaStore });
  expect(report.exitCode).toBe(0);
  const dir = join(flow.folder, 'quota');
  expect(opened).toEqual([{ dir, keyHash: expect.stringMatching(/^[0-9a-f]{20}$/) as string }]);
  expect(existsSync(dir)).toBe(false);
  expect(isClosed).toBe(true);
  expect(report.warnings.filter((warning) => warning === 'the quota is not shared')).toHaveLength(1);
});
