import { describe, expect, it } from 'vitest';
import { REPORT_START, type ReportData } from '../../src/model/report-data.ts';
import { renderReport } from '../../src/report/render-report.ts';
import { labelColumns } from '../../src/report/scales.ts';
import { listTexts, parseHtml } from './parse-html.ts';
import {
  endWith,
  makeBusyData,
  makeColumn,
  makeEmptyData,
  makeRuns,
  makeStream,
  makeTable,
} from './make-report-data.ts';

function render(data: ReportData) {
  const { html, summary } = renderReport(data);
  return { html, summary, elements: parseHtml(html), text: listTexts(html) };
}

describe('a report with a run in progress', () => {
  const underWay: NonNullable<ReportData['underWay']> = {
    runId: 'run-now',
    toldAt: '2026-11-20T15:00:00.000Z',
    requests: 21,
    streams: [
      { stream: 'done', state: 'finished', pagesDone: 2, pagesPlanned: 2, rowsDone: 20, rowsDeclared: 20 },
      {
        stream: 'going',
        state: 'reading',
        pagesDone: 3,
        pagesPlanned: 40,
        rowsDone: 300,
        rowsDeclared: undefined,
      },
    ],
    waiting: { reason: 'hourly-quota', until: '2026-11-20T16:30:00.000Z' },
    quota: { remaining: 7, limit: 600, resetAtMs: 0 },
  };

  it('shows first what it waits for, the quota and how far each stream is', () => {
    const { elements, text } = render({ ...makeBusyData(), underWay });
    expect(elements.find(({ tag }) => tag === 'section')?.attributes['id']).toBe('progress');
    const words = text.replaceAll(/\s+/g, ' ');
    expect(words).toMatch(/Run run-now is waiting for the quota until 20 Nov, 16:30 UTC/);
    expect(words).toContain('7 of 600 requests of the quota are left');
    expect(words).toMatch(/going reading3 of 40300 done finished2 of 220 of 20/);
  });

  it('is loaded again as a page: often while the run is in progress, seldom without one, and never as a file', () => {
    const reload = (data: ReportData, isLive: boolean) =>
      /http-equiv="refresh" content="(\d+)"/.exec(renderReport(data, { isLive }).html)?.[1];
    expect(reload({ ...makeBusyData(), underWay }, true)).toBe('5');
    expect(reload(makeBusyData(), true)).toBe('60');
    expect(reload({ ...makeBusyData(), underWay }, false)).toBeUndefined();
  });

  it('names its account, with a way back to all of them', () => {
    const { html } = renderReport(makeBusyData(), { isLive: true, account: 'acme' });
    expect(html).toMatch(/<title>acme: /);
    expect(html).toContain('<a href="../">All accounts</a>');
    expect(html).toContain('this page is current at each load');
    expect(renderReport(makeBusyData()).html).not.toContain('All accounts');
  });
});

describe('a busy report', () => {
  const { html, summary, elements, text } = render(makeBusyData());

  it('is one well-formed document with one heading of the first level and a name for each section', () => {
    expect(html.startsWith(REPORT_START)).toBe(true);
    expect(elements.filter(({ tag }) => tag === 'h1')).toHaveLength(1);
    const ids = elements.flatMap(({ attributes }) => attributes['id'] ?? []);
    expect(new Set(ids).size).toBe(ids.length);
    const sections = elements.filter(({ tag }) => tag === 'section');
    expect(sections.map(({ attributes }) => attributes['id'])).toEqual([
      'findings',
      'streams',
      'runs',
      'quota',
      'days',
      'schema',
      'quarantine',
      'columns',
    ]);
    for (const { attributes } of elements) {
      for (const id of attributes['aria-labelledby']?.split(' ') ?? []) expect(ids).toContain(id);
      const { href } = attributes;
      if (href?.startsWith('#') === true) expect(ids).toContain(href.slice(1));
    }
  });

  it('asks for nothing: no script, no other place, and a policy that says so', () => {
    const tags = new Set(elements.map(({ tag }) => tag));
    for (const tag of ['script', 'iframe', 'object', 'img', 'form', 'base', 'audio', 'video'])
      expect(tags.has(tag), tag).toBe(false);
    const places = elements.flatMap(({ attributes }) => [attributes['href'] ?? [], attributes['src'] ?? []]);
    expect(places.flat().filter((place) => !place.startsWith('#') && place !== 'data:,')).toEqual([]);
    expect(
      elements.flatMap(({ attributes }) => Object.keys(attributes)).filter((name) => /^on/.test(name)),
    ).toEqual([]);
    expect(html).not.toMatch(/@import|url\(/);
    const policy = elements.find(({ attributes }) => attributes['http-equiv'] === 'Content-Security-Policy');
    expect(policy?.attributes['content']).toMatch(
      /^default-src 'none'; style-src 'unsafe-inline'; img-src data:/,
    );
  });

  it('says at once what failed and what to do, the worst first', () => {
    expect(summary).toMatchObject({
      tone: 'bad',
      headline: '1 of 8 streams and slices needs attention',
      quarantined: 34,
    });
    expect(summary.findings[0]).toMatchObject({
      tone: 'bad',
      what: expect.stringMatching(
        /^commerce_top_products failed at offset 1980: .*answered 500 five times\.$/,
      ) as string,
      todo: expect.stringContaining('run `sluice sync` again later') as string,
    });
    expect(text).toContain('1 of 8 streams and slices needs attention');
    expect(text).toContain('34 records could not become rows');
    expect(text).toContain('the key expires on 2026-11-29'.replace('the', 'The'));
    // What is said of the run is said of its stream already.
    expect(summary.findings.filter(({ what }) => what.startsWith('The last run'))).toEqual([]);
  });

  it('gives each chart a name, a description and its numbers', () => {
    const charts = elements.filter(({ tag, attributes }) => tag === 'svg' && attributes['class'] === 'marks');
    expect(charts.length).toBe(3 + 5);
    for (const { attributes } of charts) expect(attributes['aria-labelledby']).toMatch(/^(\w+)-t \1-d$/);
    expect(elements.filter(({ attributes }) => attributes['class'] === 'numbers')).toHaveLength(
      charts.length,
    );
    expect(text).toContain('the busiest hour was');
    expect(text).toContain('of the 600 that the server allows');
  });

  it('names the length of the window that its quota is for', () => {
    expect(text).toContain('of 600 requests an hour');
    const quota = { limit: 100, remaining: 41, resetAtMs: undefined, notBeforeMs: undefined };
    const short = render(makeBusyData({ quota: { ...quota, windowMs: 900_000 } }));
    expect(short.text).toContain('of 100 requests in 15 min');
  });

  it('shows no value of a masked column', () => {
    expect(text).toContain('personal data, not shown');
    const shown = render(makeBusyData({ tables: [makeTable('t', { profile: undefined })] }));
    expect(shown.text).toContain('Its columns are not shown.');
  });
});

describe('texts of the source and the config', () => {
  const hostile = [
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    "' autofocus onfocus='alert(1)",
    '</style></title></svg><h1>forged</h1>',
    '&lt;b&gt;',
    '\u202eevil\u0007\u0000\n',
    'اسم عربي',
    'a `lone one',
    'n'.repeat(10_000),
  ];

  it.each(hostile.map((name) => [JSON.stringify(name.slice(0, 30)), name]))(
    'stay text everywhere: %s',
    (_, name) => {
      const plain = render(makeHostileData('name'));
      const { elements, html, text } = render(makeHostileData(name));
      // The same elements with the same attributes, whatever the text is.
      const outline = (all: typeof elements) =>
        all.map(({ tag, attributes }) => `${tag} ${Object.keys(attributes).join(' ')}`);
      expect(outline(elements)).toEqual(outline(plain.elements));
      expect(html).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u0000-\u0009\u000b-\u001f]/);
      if (name.length < 100 && /^[\w<>/()&;" ]+$/.test(name)) expect(text).toContain(name);
      expect(html.length - plain.html.length).toBeLessThan(60_000);
    },
  );

  function makeHostileData(name: string): ReportData {
    const runs = makeRuns(2).map((run) => ({ ...run, runId: `${name}${run.runId}`, status: name }));
    const error = { code: 'bug', message: name, hint: name, exitCode: 1 } as const;
    const stream = makeStream(name, runs, {
      slice: `entity=${name}`,
      keyColumns: [name],
      watermark: name,
    });
    const column = makeColumn(name, {
      type: name,
      values: { kind: 'few', top: [{ value: name, rows: 1 }], others: 0 },
    });
    const range = makeColumn(name, { values: { kind: 'range', min: name, max: name, bins: [1, 2] } });
    const table = makeTable(name);
    const days = table.days && { ...table.days, column: name };
    return makeEmptyData({
      version: name,
      source: { connector: name, baseUrl: name },
      published: { path: name, bytes: 1, modifiedAt: '2026-11-20T00:00:00Z' },
      warnings: [name],
      leftOut: [name],
      runs,
      streams: [
        endWith(stream, { status: 'failed', error, reasons: [name] }),
        makeStream(name, runs, { verdict: 'drifted' }),
      ],
      tables: [{ ...table, days, profile: { rowsSeen: 10, isSample: true, columns: [column, range] } }],
      schemaChanges: {
        total: 1,
        newest: [
          {
            runId: name,
            stream: name,
            column: name,
            change: name,
            fromType: name,
            toType: name,
            changedAt: name,
          },
        ],
      },
      quarantine: {
        total: 2,
        reasons: [
          {
            stream: name,
            slice: name,
            path: name,
            reason: name,
            records: 1,
            newestAt: name,
            sampleId: name,
            sample: name,
          },
        ],
      },
    });
  }
});

describe('the day that the data reaches', () => {
  const runs = makeRuns(2);
  const at = (stream: string, watermark: string | undefined) => makeStream(stream, runs, { watermark });
  const reach = (...streams: ReturnType<typeof at>[]) =>
    /Data up to(.*?)Last run/s
      .exec(render(makeEmptyData({ runs, streams })).text)?.[1]
      ?.replaceAll(/\s+/g, ' ')
      .trim();

  it('is that of the stream that is furthest behind', () => {
    expect(reach(at('a', '2026-11-14'), at('late_one', '2026-11-13'), at('c', undefined))).toBe(
      '2026-11-13 late_one; others up to 2026-11-14',
    );
    expect(reach(at('a', '2026-11-13'), at('b', '2026-11-13'), at('c', '2026-11-14'))).toBe(
      '2026-11-13 a and 1 more; others up to 2026-11-14',
    );
    expect(reach(at('a', '2026-11-14'), at('b', '2026-11-14'))).toBe('2026-11-14');
    expect(reach(at('a', undefined))).toBe('–');
  });
});

describe('labels under columns', () => {
  it.each([2, 5, 6, 14, 24, 40, 168])('keep apart where there are %i of them', (count) => {
    const room = Math.max(14, count);
    const ticks = labelColumns(
      Array.from({ length: count }, () => '18:35'),
      (index) => ((index + 0.5) / room) * 100,
    );
    const places = ticks.map((tick) => tick.at);
    for (const [index, place] of places.entries())
      if (index > 0) expect(place - (places[index - 1] ?? 0)).toBeGreaterThanOrEqual(13);
    expect(places.length).toBeGreaterThan(0);
  });
});

describe('little to show', () => {
  it('says that nothing was synced, and what to do', () => {
    const { text, summary } = render(makeEmptyData());
    expect(summary).toMatchObject({ tone: 'note', headline: 'Nothing was synced yet', runs: 0, tables: 0 });
    for (const words of [
      'Run sluice sync.',
      'No run yet.',
      'No table yet.',
      'No column has changed.',
      'No record is in quarantine.',
    ])
      expect(text).toContain(words);
  });

  it('draws one run, a table without rows, days and values', () => {
    const runs = makeRuns(1);
    const nothing = makeColumn('x', { type: 'NULL', nulls: 5, distinct: 0, values: undefined });
    const { text, html } = render(
      makeEmptyData({
        runs,
        streams: [makeStream('one', runs, { rows: 0 })],
        tables: [
          makeTable('empty', { rows: 0, days: undefined }),
          makeTable('nulls', { rows: 5, profile: { rowsSeen: 5, isSample: false, columns: [nothing] } }, 1),
        ],
        requests: { hours: [{ hour: '2026-11-20T17:00:00.000Z', requests: 0 }], limit: undefined },
      }),
    );
    expect(text).toContain('The stream is verified and up to date');
    expect(text).toContain('No rows with a date.');
    expect(text).toContain('No rows. Columns: prompt_id');
    expect(text).toContain('no value yet');
    expect(html).not.toMatch(/NaN|Infinity|undefined/);
  });

  it('says what an unfinished run means, and does not judge by it', () => {
    const runs = makeRuns(3, (at) => (at === 2 ? { status: 'running', finishedAt: undefined } : {}));
    const { summary } = render(
      makeEmptyData({ runs, streams: [makeStream('one', runs)], published: makeBusyData().published }),
    );
    expect(summary).toMatchObject({ tone: 'good', headline: 'The stream is verified and up to date' });
    expect(summary.findings[0]?.what).toMatch(/^A sync has been under way since/);
  });
});

describe('much to show', () => {
  it('keeps 300 streams below 3 MB, the worst first and the rest at hand', () => {
    const runs = makeRuns(60);
    const names = Array.from({ length: 300 }, (_, at) => `a_stream_with_a_name_${at}`);
    const streams = names.map((name) => makeStream(name, runs));
    const last = streams.at(-1) ?? makeStream('none', runs);
    const many = makeTable('t', {}, 30);
    const columns = (many.profile?.columns ?? []).slice(0, 5);
    const { html, elements, text } = render(
      makeBusyData({
        runs,
        streams: [...streams.slice(0, -1), endWith(last, { status: 'failed', verdict: undefined })],
        tables: names.map((stream) => ({
          ...many,
          stream,
          profile: { rowsSeen: 9, isSample: false, columns },
        })),
      }),
    );
    expect(Buffer.byteLength(html)).toBeLessThan(3_000_000);
    expect(text).toContain('240 more');
    const [, firstRow] = elements.filter(({ tag }) => tag === 'tr');
    expect(firstRow).toBeDefined();
    expect(html.indexOf('a_stream_with_a_name_299')).toBeLessThan(html.indexOf('a_stream_with_a_name_0<'));
  });
});
