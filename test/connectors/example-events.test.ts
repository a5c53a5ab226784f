import { describe, expect, it } from 'vitest';
import { describeConnector } from '../contract/connector.ts';
import { createProject } from '../contract/connector-project.ts';
import { recordsOf } from '../contract/described-api.ts';
import { eventsApi } from './example-events/api.ts';
import { exampleEvents } from './example-events/connector.ts';

describeConnector(exampleEvents, eventsApi);

/** An API whose pages are changed on their way; `n` counts the requests, the first is 0. */
function syncChanged(change: (page: Page, n: number) => Page) {
  let n = -1;
  const project = createProject(exampleEvents, {
    ...eventsApi,
    answer: (asked) => change(eventsApi.answer(asked) as Page, (n += 1)),
  });
  return { project, report: project.sync({ streams: ['events'] }) };
}

interface Page {
  readonly items: readonly object[];
  readonly paging: { readonly next: unknown; readonly total?: unknown };
}

describe('pages by cursor', () => {
  it('without a total are complete when no page follows, and unverified', async () => {
    const { project, report } = syncChanged((page) => ({ ...page, paging: { next: page.paging.next } }));
    expect(await report).toMatchObject({ exitCode: 0, streams: [{ verdict: 'unverified' }] });
    expect(await project.ids('events')).toHaveLength(recordsOf(eventsApi, 'events').length);
  });

  it.each([
    [
      'name themselves',
      (page: Page) => ({ ...page, paging: { next: '100', total: 436 } }),
      /names itself|already returned/,
    ],
    [
      'loop',
      (page: Page, n: number) => (n === 4 ? { ...page, paging: { ...page.paging, next: '0' } } : page),
      /pagination is looping/,
    ],
    [
      'never bring anything',
      (page: Page, n: number) => (n === 0 ? page : { items: [], paging: { next: `c${n}`, total: 436 } }),
      /pages in a row had no records/,
    ],
    [
      'end before the total',
      (page: Page, n: number) => (n === 2 ? { ...page, paging: { ...page.paging, next: null } } : page),
      /300 records returned of 436 declared/,
    ],
    [
      'name the next one by an object',
      (page: Page) => ({ ...page, paging: { next: {} } }),
      /should name the next page/,
    ],
  ])('that %s end with 4, and soon', async (_, change, message) => {
    const { project, report } = syncChanged(change);
    const { exitCode, streams } = await report;
    expect(exitCode).toBe(4);
    expect(streams[0]?.error?.message).toMatch(message);
    expect(project.server.requests.length).toBeLessThan(120);
  });

  it('are read again when the first one changed meanwhile', async () => {
    const { project, report } = syncChanged((page, n) =>
      n === 0
        ? { ...page, items: [{ id: -1, date: '2026-01-01', stream: 'events' }, ...page.items.slice(1)] }
        : page,
    );
    expect(await report).toMatchObject({ exitCode: 0, streams: [{ verdict: 'verified', rescans: 1 }] });
    expect(await project.ids('events')).toEqual(recordsOf(eventsApi, 'events').map(({ id }) => id));
  });

  it('are read with one request a run as well, the first one again at the end', async () => {
    const project = createProject(exampleEvents, eventsApi);
    const codes: number[] = [];
    while (codes.length < 12 && codes.at(-1) !== 0) {
      const { exitCode } = await project.sync({ streams: ['events'], maxRequests: 1 });
      codes.push(exitCode);
    }
    expect(codes).toEqual([75, 75, 75, 75, 75, 0]);
    expect(await project.ids('events')).toEqual(recordsOf(eventsApi, 'events').map(({ id }) => id));
  });
});
