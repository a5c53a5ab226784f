import { describe, expect, it } from 'vitest';
import { createItemsFlow, makeItems, streamOf } from '../support/sync-harness.ts';

const RECORDS = makeItems(60).map((item) => ({ ...item, userEmail: `u${item.id}@example.com` }));

describe('a config that plainly does not fit the data', () => {
  it('by a key that most rows share loads nothing, and names one that fits', async () => {
    const flow = createItemsFlow(RECORDS, { stream: { key: ['date'] } });
    const report = await flow.sync();
    expect(report.exitCode).toBe(2);
    const { error } = streamOf(report);
    expect(error?.message).toContain('58 of 60 rows have the key (date) of another row');
    expect(error?.hint).toMatch(/table is unchanged.*\[.*id.*\].*pages are kept for 24 h/);
    expect(flow.isPublished()).toBe(false);
    // Once fixed, the pages that were paid for serve.
    const repaired = await flow.sync({
      config: { streams: { items: { path: 'items', paginated: true, key: ['id'] } } },
    });
    expect(repaired).toMatchObject({ exitCode: 0, streams: [{ rows: { inserted: 60 } }] });
  });

  it('by a key that most rows lack is reported as that', async () => {
    const flow = createItemsFlow(
      RECORDS.map((item) => ({ ...item, code: item.id < 5 ? item.id : null })),
      { stream: { key: ['code'] } },
    );
    const refused = streamOf(await flow.sync());
    expect(refused.error?.message).toContain('55 records have no value for the key (code)');
    // They are read again, so none may be called kept.
    expect(refused.pages).toBe(0);
  });

  it('by a misspelt field to leave out publishes nothing of the stream', async () => {
    const flow = createItemsFlow(RECORDS, { stream: { columns: { usermail: { exclude: true } } } });
    const report = await flow.sync();
    expect(report.exitCode).toBe(2);
    expect(streamOf(report).error?.message).toMatch(/names usermail, which no record has.*userEmail/);
    expect(flow.isPublished()).toBe(false);
  });

  it('by a field that is like no other is reported, and loaded', async () => {
    const flow = createItemsFlow(RECORDS, { stream: { columns: { passport: { exclude: true } } } });
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 0, warnings: [expect.stringContaining('passport')] });
  });

  it('by a type that no value fits says where the values are', async () => {
    const flow = createItemsFlow(RECORDS, { stream: { columns: { name: { type: 'DATE' } } } });
    const report = await flow.sync();
    expect(report.warnings).toEqual([
      expect.stringMatching(/makes name a DATE, but no value is one.*name__text/),
    ]);
    expect(await flow.query('SELECT count(name__text) AS n FROM main.items')).toEqual([{ n: 60 }]);
  });
});
