import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { errorStatus, respondWith, unauthorized } from '../../src/simulator/fault-effects.ts';
import { beforeRequest, when } from '../../src/simulator/faults.ts';
import { discoverItems, discoverStreams, foundOf, paramOf, verdictsOf } from '../support/discover-harness.ts';
import { makeItem, makeItems } from '../support/sync-harness.ts';

const fieldOf = (discovered: Awaited<ReturnType<typeof discoverItems>>, name: string) =>
  foundOf(discovered).fields.find(({ field }) => field === name);

describe('the sample', () => {
  it('takes the first page, one in the middle and the last one', async () => {
    const found = await discoverItems(makeItems(1_000), { probes: false });
    expect(found.asked).toEqual(['limit=100&offset=0', 'limit=100&offset=450', 'limit=100&offset=900']);
    expect(foundOf(found).sample).toEqual({
      records: 300,
      notObjects: 0,
      pages: 3,
      total: 1_000,
      isWhole: false,
      place: { pointer: '/data', kind: 'array' },
    });
    expect(found.report).toMatchObject({ requestsSpent: 3, probes: { state: 'not-asked' } });
  });

  it.each([
    [1, 1, 100, 1],
    [5, 5, 500, 5],
    [200, 10, 1_000, 10],
  ])('takes as many pages as it is told: %i', async (pages, asked, records, seen) => {
    const found = await discoverItems(makeItems(1_000), { probes: false, pages });
    expect(found.asked).toHaveLength(asked);
    expect(foundOf(found).sample).toMatchObject({ records, pages: seen, isWhole: records === 1_000 });
  });

  it('asks once where one page is all there is, and says so', async () => {
    const found = await discoverItems(makeItems(40), { probes: false });
    expect(foundOf(found).sample).toMatchObject({ records: 40, pages: 1, isWhole: true, total: 40 });
  });

  it('follows the pages where no total says how many there are', async () => {
    const hidden = respondWithoutTotal();
    const found = await discoverItems(makeItems(1_000), { probes: false, faults: [hidden] });
    expect(found.asked).toEqual(['limit=100&offset=0', 'limit=100&offset=100', 'limit=100&offset=200']);
    expect(foundOf(found).sample).toMatchObject({ records: 300, total: undefined, isWhole: false });
  });

  it('is content with fewer rows a page than it asked for', async () => {
    const found = await discoverItems(makeItems(1_000), {
      probes: false,
      faults: [({ offset }) => ({ page: (page) => ({ ...page, offset, limit: 30 }) })],
    });
    expect(found.asked).toEqual(['limit=100&offset=0', 'limit=100&offset=485', 'limit=100&offset=970']);
    expect(foundOf(found).sample?.records).toBe(90);
  });

  it('reports pages that come again and leaves them out, so that keys are not refuted by them', async () => {
    const found = await discoverItems(makeItems(1_000), {
      probes: false,
      faults: [() => ({ page: (page) => ({ ...page, offset: 0 }) })],
    });
    expect(foundOf(found).sample?.records).toBe(100);
    expect(foundOf(found).notes).toEqual([
      'the page at offset 450 repeats the first page: the API may ignore the offset',
    ]);
    expect(foundOf(found).keys[0]?.holds).toBe(true);
  });

  it('reports data that moves while it is sampled', async () => {
    const found = await discoverItems(makeItems(1_000), {
      probes: false,
      faults: [
        beforeRequest(2, (controls) => controls.editRecords('items', (all) => [...all, makeItem(5_000)])),
      ],
    });
    expect(foundOf(found).notes).toEqual([
      'the data changed while it was sampled: the total was 1000, then 1001',
    ]);
  });

  it('finds nothing in an empty endpoint and asks nothing more', async () => {
    const found = await discoverItems([]);
    expect(foundOf(found)).toMatchObject({
      status: 'sampled',
      fields: [],
      keys: [],
      cursors: [],
      params: [],
    });
    expect(found.report.probes).toEqual({ state: 'nothing-to-ask', mostRequests: 0 });
    expect(found.asked).toHaveLength(1);
  });

  it('counts records that are not objects', async () => {
    const found = await discoverItems([...makeItems(30), 7, 'text', null, [1]], { probes: false });
    expect(foundOf(found).sample).toMatchObject({ records: 30, notObjects: 4, isWhole: true });
  });

  it.each([
    ['array', '', 'array'],
    ['data', '/data', 'array'],
    [{ member: 'rows' }, '/rows', 'array'],
    ['object', '', 'object'],
  ] as const)('says where the records of an unpaginated answer are: %j', async (shape, pointer, kind) => {
    const found = await discoverItems(makeItems(50), {
      probes: false,
      endpoint: { paginated: false, shape },
      stream: { paginated: false },
    });
    const records = kind === 'object' ? 1 : 50;
    expect(foundOf(found).sample).toMatchObject({
      records,
      total: records,
      isWhole: true,
      place: { pointer, kind },
    });
    expect(found.asked).toEqual(['']);
  });

  it('leaves no trace but its requests in the quota', async () => {
    const { folder } = await discoverItems(makeItems(300));
    expect(existsSync(join(folder, 'state'))).toBe(false);
    expect(existsSync(join(folder, 'warehouse.duckdb'))).toBe(false);
    expect(existsSync(join(folder, 'contracts'))).toBe(false);
    expect(existsSync(join(folder, 'quota'))).toBe(true);
  });
});

describe('fields', () => {
  const records = makeItems(40).map((item) => ({
    ...item,
    code: item.id % 2 === 0 ? 'even' : null,
    ...(item.id % 4 === 0 && { extra: item.id }),
    nested: { deep: { flag: item.id < 10 } },
    tags: ['a', 'b'],
    mixed: item.id % 2 === 0 ? item.id : `text ${item.id}`,
    'odd.name': item.id,
  }));

  it('are reported with column, type, kinds, nulls, gaps, distinct values and examples', async () => {
    const found = await discoverItems(records, { probes: false });
    expect(fieldOf(found, 'code')).toMatchObject({
      column: 'code',
      type: 'VARCHAR',
      seen: ['text'],
      filled: 20,
      nulls: 20,
      missing: 0,
      distinct: 1,
      isLeast: false,
      examples: ['"even"'],
    });
    expect(fieldOf(found, 'extra')).toMatchObject({
      type: 'BIGINT',
      filled: 10,
      nulls: 0,
      missing: 30,
      distinct: 10,
      examples: ['0', '4', '8'],
    });
    expect(fieldOf(found, 'nested.deep.flag')).toMatchObject({
      path: ['nested', 'deep', 'flag'],
      column: 'nested__deep__flag',
      type: 'BOOLEAN',
      distinct: 2,
    });
    expect(fieldOf(found, 'tags')).toMatchObject({
      type: 'JSON',
      seen: ['array'],
      distinct: 1,
      examples: ['["a","b"]'],
    });
    expect(fieldOf(found, 'mixed')).toMatchObject({
      type: 'VARCHAR',
      seen: ['integer', 'text'],
      distinct: 40,
    });
    expect(fieldOf(found, 'odd.name')).toMatchObject({ path: ['odd.name'], column: 'odd_name' });
    expect(foundOf(found).fields.map(({ field }) => field)).not.toContain('nested');
  });

  it('show no value of the data where examples are not wanted, in the evidence neither', async () => {
    const people = makeItems(200).map((item) => ({
      ...item,
      entity: item.id % 2 === 0 ? 'acme-secret' : 'globex-secret',
    }));
    const found = await discoverItems(people, { examples: false, endpoint: { dateField: 'date' } });
    expect(verdictsOf(found)).toMatchObject({ entity: 'honoured', startDate: 'honoured' });
    const shown = JSON.stringify(found.report);
    expect(shown).not.toMatch(/secret|item 1|2026-01-0\d/);
    expect(paramOf(found, 'entity').evidence[0]).toMatch(/^entity=a value of entity: 100 of 200 rows/);
  });

  it('cut examples that are long', async () => {
    const found = await discoverItems([{ id: 1, text: 'x'.repeat(500) }], { probes: false });
    expect(fieldOf(found, 'text')?.examples[0]).toHaveLength(81);
  });
});

describe('keys and cursors', () => {
  it('are reported with the rows that speak for them, and against others', async () => {
    const rows = makeItems(1_000).map(({ id, ...item }) => ({ productId: id % 50, ...item, score: id / 7 }));
    const found = await discoverItems(rows, { probes: false });
    expect(foundOf(found).keys[0]).toEqual({
      fields: ['date', 'productId'],
      distinct: 300,
      rows: 300,
      holds: true,
    });
    expect(foundOf(found).keys).toContainEqual(expect.objectContaining({ fields: ['date'], holds: false }));
    expect(foundOf(found).cursors).toEqual([
      { field: 'date', type: 'DATE', oldest: '2026-01-01', newest: '2026-01-20', order: 'ascending' },
    ]);
  });

  it('never name measures, floats or free text', async () => {
    const rows = makeItems(100).map(({ id }) => ({ amount: id, ratio: id + 0.5, description: `text ${id}` }));
    const found = await discoverItems(rows, { probes: false });
    expect(foundOf(found)).toMatchObject({ keys: [], cursors: [] });
  });

  it('do not prove a key on one row', async () => {
    expect(foundOf(await discoverItems(makeItems(1), { probes: false })).keys).toEqual([]);
  });

  it('leave the date out of the key where the endpoint ignores start dates, as a sync would', async () => {
    const found = await discoverItems(makeItems(300));
    expect(verdictsOf(found)['startDate']).toBe('ignored');
    expect(foundOf(found).keys[0]?.fields).toEqual(['id']);
  });
});

describe('start dates', () => {
  it('are honoured when the future is empty and an earlier day leaves only later rows', async () => {
    const found = await discoverItems(makeItems(1_000), { endpoint: { dateField: 'date' } });
    expect(paramOf(found, 'startDate')).toEqual({
      param: 'startDate',
      verdict: 'honoured',
      field: 'date',
      evidence: [
        'startDate=2027-02-01: no rows',
        'startDate=2026-01-11: 500 of 1,000 rows, none received has an earlier date',
      ],
    });
  });

  it('are ignored when the future changes nothing; one request tells', async () => {
    const found = await discoverItems(makeItems(300));
    expect(paramOf(found, 'startDate')).toMatchObject({
      verdict: 'ignored',
      evidence: ['startDate=2027-02-01: the same 300 rows as without it'],
    });
    expect(found.asked.filter((query) => query.includes('startDate'))).toHaveLength(1);
  });

  it('are refused when the API says so, with its words', async () => {
    const refusing = when(
      { where: ({ query }) => query.has('startDate') },
      errorStatus(400, 'startDate is not a parameter.'),
    );
    const found = await discoverItems(makeItems(300), { faults: [refusing] });
    expect(paramOf(found, 'startDate')).toMatchObject({ verdict: 'refused' });
    expect(paramOf(found, 'startDate').evidence[0]).toMatch(
      /^startDate=2027-02-01: refused, 400 .*startDate is not a parameter/,
    );
  });

  it('are not decided by a future that is empty alone', async () => {
    const rows = makeItems(300).map(({ id, name }) => ({ id, name }));
    const empty = when(
      { where: ({ query }) => query.has('startDate') },
      respondWith({ body: '{"data":[],"pagination":{"total":0,"limit":100,"offset":0,"hasMore":false}}' }),
    );
    const found = await discoverItems(rows, { faults: [empty] });
    expect(paramOf(found, 'startDate')).toMatchObject({
      verdict: 'undecided',
      evidence: [
        'startDate=2027-02-01: no rows',
        'the sample has no field with several dates to try another by',
      ],
    });
  });

  it('are not decided when rows before the date come', async () => {
    const found = await discoverItems(makeItems(300), {
      endpoint: { dateField: 'date' },
      faults: [
        when({ where: ({ query }) => (query.get('startDate') ?? '9') < '2027' }, () => ({
          envelope: (envelope) => ({
            ...envelope,
            data: makeItems(100),
            pagination: { ...envelope.pagination, total: 200 },
          }),
        })),
      ],
    });
    expect(paramOf(found, 'startDate').verdict).toBe('undecided');
  });

  it('are not asked for where config switches the cursor off', async () => {
    const found = await discoverItems(makeItems(300), { stream: { cursor: false } });
    expect(found.asked.filter((query) => query.includes('cursor'))).toEqual([]);
    expect(Object.keys(verdictsOf(found))).toContain('entity');
  });
});

describe('filters', () => {
  const rows = makeItems(300).map((item) => ({
    ...item,
    entity: item.id % 3 === 0 ? 'acme' : 'globex',
    topic_id: `t${item.id % 5}`,
    region: 'de',
  }));

  it('are honoured when a value of the sample narrows the answer to itself', async () => {
    const found = await discoverItems(rows, { endpoint: { filters: { topicIds: ['topic_id'] } } });
    expect(paramOf(found, 'entity')).toEqual({
      param: 'entity',
      verdict: 'honoured',
      evidence: [
        'entity=acme: 100 of 300 rows, all 100 received have that entity',
        'entity=no-such-value: no rows',
      ],
    });
    expect(paramOf(found, 'topicIds').evidence[0]).toMatch(
      /^topicIds=t\d: 60 of 300 rows, all 60 received have that topic_id$/,
    );
  });

  it('are honoured when a value that all rows have changes nothing and a wrong one leaves none', async () => {
    expect(paramOf(await discoverItems(rows), 'regions')).toEqual({
      param: 'regions',
      verdict: 'honoured',
      evidence: [
        'regions=de: the same 300 rows as without it, all 100 received have that region',
        'regions=no-such-value: no rows',
      ],
    });
  });

  it('are ignored when nothing changes', async () => {
    const found = await discoverItems(rows, { endpoint: { filters: { entity: [] } } });
    expect(paramOf(found, 'entity')).toMatchObject({ verdict: 'ignored' });
    // A value that changes nothing although others have another one settles it.
    expect(found.asked.filter((query) => query.includes('entity='))).toHaveLength(1);
    expect(paramOf(found, 'providers')).toEqual({
      param: 'providers',
      verdict: 'ignored',
      evidence: ['providers=no-such-value: the same 300 rows as without it'],
    });
  });

  it('are refused when the API refuses a value that its own data holds', async () => {
    const refusing = when(
      { where: ({ query }) => query.has('entity') },
      errorStatus(400, 'entity is not allowed here.'),
    );
    const found = await discoverItems(rows, { faults: [refusing] });
    expect(paramOf(found, 'entity')).toMatchObject({ verdict: 'refused' });
    expect(paramOf(found, 'entity').evidence[0]).toContain('entity is not allowed here.');
  });

  it('are not decided when the endpoint fails on them', async () => {
    const failing = when({ where: ({ query }) => query.has('entity') }, errorStatus(500));
    const found = await discoverItems(rows, { faults: [failing] });
    expect(paramOf(found, 'entity')).toMatchObject({ verdict: 'undecided' });
    expect(verdictsOf(found)['regions']).toBe('honoured');
  });

  it('that config sets are tried with a wrong value only, and the others keep theirs', async () => {
    const found = await discoverItems(rows, { stream: { params: { entity: 'acme' } } });
    expect(found.asked.filter((query) => query.includes('entity=no-such-value'))).toHaveLength(1);
    expect(found.asked.filter((query) => !query.includes('entity='))).toEqual([]);
    expect(foundOf(found).sample?.total).toBe(100);
  });

  it('are not asked for by hashes, nor for what is left out', async () => {
    const found = await discoverItems(rows, {
      config: { defaults: { hashKey: 'a key of these tests' } },
      stream: { columns: { entity: { hash: true }, region: { exclude: true } } },
    });
    expect(found.asked.filter((query) => query.includes('entity='))).toEqual([
      expect.stringContaining('entity=no-such-value'),
    ]);
    expect(fieldOf(found, 'entity')).toMatchObject({ isHashed: true, examples: [], distinct: 2 });
    expect(foundOf(found).excluded).toEqual(['region']);
    expect(JSON.stringify(found.report)).not.toMatch(/acme|globex/);
  });
});

describe('costs', () => {
  it('are stated before, at most, and kept', async () => {
    const { report, confirmed, asked } = await discoverStreams();
    const [most = 0] = confirmed;
    expect(confirmed).toHaveLength(1);
    expect(report.probes).toEqual({ state: 'asked', mostRequests: most });
    expect(asked.length - 10).toBeLessThanOrEqual(most);
    expect(asked.length - 10).toBeGreaterThan(most / 2);
    expect(report.requestsSpent).toBe(asked.length);
  });

  it('stay within --max-requests while it samples', async () => {
    const { report, asked } = await discoverStreams({ maxRequests: 4 });
    expect(asked).toHaveLength(4);
    expect(report.streams.map(({ status }) => status)).toEqual(['sampled', 'sampled', 'failed', 'failed']);
    expect(report.streams[2]?.error).toMatchObject({ code: 'request_limit_reached', exitCode: 75 });
  });

  it('stay within it while it tries parameters, and says which were not asked', async () => {
    const found = await discoverItems(makeItems(300), { maxRequests: 5, endpoint: { dateField: 'date' } });
    expect(found.asked).toHaveLength(5);
    expect(found.report.probes.error).toMatchObject({ code: 'request_limit_reached' });
    expect(verdictsOf(found)).toMatchObject({ startDate: 'honoured', regions: 'undecided' });
    expect(paramOf(found, 'regions').evidence).toEqual(['not asked']);
  });

  it('are within what the quota has left, and what was left out is named with when to come back', async () => {
    const all = await discoverStreams({ probes: false });
    const [wanted = 0] = all.confirmed;
    const sampled = all.asked.length;
    const { report, confirmed, told, asked } = await discoverStreams({
      simulator: { rateLimit: { requestsPerHour: sampled + 8 } },
    });
    expect(wanted).toBeGreaterThan(8);
    expect(confirmed).toEqual([8]);
    expect(told).toMatchObject([{ wanted, quotaLeft: 8, returnsAtMs: expect.any(Number) as number }]);
    expect(asked.length).toBeLessThanOrEqual(sampled + 8);
    const { probes } = report;
    expect(probes).toMatchObject({ state: 'asked', mostRequests: wanted, affordable: 8 });
    expect(probes.error).toMatchObject({
      code: 'quota_exhausted',
      exitCode: 75,
      message: expect.stringMatching(
        new RegExp(`^trying all takes up to ${wanted} requests, and the quota had 8 left; left out: `),
      ) as string,
      hint: expect.stringMatching(/^Run `sluice discover \S+ --yes` after \d{4}-.* UTC/) as string,
    });
    // What decides how a stream is synced comes first.
    const verdicts = report.streams.flatMap(({ params }) =>
      params.filter(({ param }) => param === 'startDate'),
    );
    expect(verdicts.map(({ evidence }) => evidence)).not.toContainEqual(['not asked']);
    const named = probes.leftOut?.length ?? 0;
    const notAsked = report.streams.flatMap(({ params }) => params.map(({ evidence }) => evidence[0]));
    expect(notAsked.filter((text) => text === 'not asked')).toHaveLength(named);
    expect(named).toBeGreaterThan(0);
  });

  it('leave alone what config keeps in reserve, and what is over its ceiling', async () => {
    const records = makeItems(300);
    for (const quota of [{ reserve: 595 }, { requestsPerHour: 5 }]) {
      const { confirmed, asked } = await discoverItems(records, {
        config: { quota },
        rateLimit: { requestsPerHour: 600 },
      });
      expect(confirmed).toEqual([2]);
      expect(asked.length).toBeLessThanOrEqual(5);
    }
  });

  it('are within the own count where the API reveals nothing of its quota', async () => {
    const { confirmed, asked } = await discoverItems(makeItems(300), {
      config: { quota: { requestsPerHour: 6 } },
      rateLimit: { headers: false },
    });
    expect(confirmed).toEqual([3]);
    expect(asked.length).toBeLessThanOrEqual(6);
  });

  it('are not asked about where nothing is left', async () => {
    const { confirmed, report, asked } = await discoverItems(makeItems(300), {
      rateLimit: { requestsPerHour: 3 },
    });
    expect(asked).toHaveLength(3);
    expect(confirmed).toEqual([]);
    expect(report.probes).toMatchObject({ state: 'not-asked', affordable: 0, error: { exitCode: 75 } });
    expect(foundOf({ report } as never).fields).not.toEqual([]);
  });

  it('stop at a quota that is spent, without waiting', async () => {
    const { report, asked } = await discoverStreams({ simulator: { rateLimit: { requestsPerHour: 2 } } });
    expect(asked).toHaveLength(2);
    expect(report.streams.map(({ status }) => status)).toEqual(['sampled', 'failed', 'failed', 'failed']);
    expect(report.streams[1]?.error).toMatchObject({ code: 'quota_exhausted', exitCode: 75 });
  });
});

describe('failures', () => {
  it('of one stream leave the others, and name the line to write for a missing entity', async () => {
    const { report } = await discoverItems(makeItems(10), {
      endpoint: { requiredParams: ['entity'] },
      probes: false,
    });
    const [stream] = report.streams;
    expect(stream).toMatchObject({ status: 'failed', error: { code: 'request_rejected', exitCode: 4 } });
    expect(stream?.error?.hint).toContain('streams: { items: { params: { entity:');
  });

  it('of the key end it with one request', async () => {
    const { report, asked } = await discoverStreams({ simulator: { faults: [unauthorized()] } });
    expect(asked).toHaveLength(1);
    expect(report.streams.every(({ error }) => error?.code === 'key_rejected')).toBe(true);
  });

  it('of a built-in endpoint that is not there are none', async () => {
    const missing = when({ path: 'commerce/top-products' }, errorStatus(404));
    const { report } = await discoverStreams({ simulator: { faults: [missing] }, probes: false });
    expect(report.streams.map(({ status }) => status)).toEqual([
      'sampled',
      'sampled',
      'sampled',
      'unavailable',
    ]);
  });

  it('of a wrong base URL are reported as such', async () => {
    const { report } = await discoverStreams({ simulator: { faults: [errorStatus(404)] } }).catch(
      (error: unknown) => ({ report: error }),
    );
    expect(report).toMatchObject({
      code: 'stream_not_found',
      message: expect.stringContaining('every endpoint') as string,
    });
  });

  it('by unknown stream names spend nothing', async () => {
    await expect(discoverStreams({ streams: ['prompts_analytic'] })).rejects.toMatchObject({ exitCode: 2 });
  });
});

describe('slices', () => {
  it('are sampled by one of them, with its value where the records lack it', async () => {
    const found = await discoverItems(makeItems(120), {
      stream: { params: { entity: ['acme', 'globex'] }, sliceBy: ['entity'] },
      probes: false,
    });
    expect(foundOf(found)).toMatchObject({
      slice: 'entity=acme',
      notes: ['sampled one slice of 2: entity=acme'],
    });
    expect(fieldOf(found, 'entity')).toMatchObject({ filled: 120, distinct: 1, examples: ['"acme"'] });
    expect(found.asked.every((query) => query.startsWith('entity=acme'))).toBe(true);
  });

  it('do not bring a value back that is left out', async () => {
    const found = await discoverItems(makeItems(120), {
      stream: {
        params: { entity: ['acme', 'globex'] },
        sliceBy: ['entity'],
        columns: { entity: { exclude: true } },
      },
      probes: false,
    });
    expect(fieldOf(found, 'entity')).toBeUndefined();
  });
});

function respondWithoutTotal() {
  return () => ({
    envelope: (envelope: { readonly data: unknown; readonly pagination?: object }) => ({
      ...envelope,
      pagination: { ...envelope.pagination, total: undefined },
    }),
  });
}
