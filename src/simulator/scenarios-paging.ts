import { capLimit, ignoreOffset, rewriteEnvelope, rewritePagination } from './fault-effects.ts';
import { type Fault, type FaultMatch, type PageWindow, when } from './faults.ts';
import { pagedScenario, type Scenario, SCENARIO_PATH as path } from './scenario.ts';

type Pagination = Readonly<Record<'total' | 'limit' | 'offset', number>>;

/** A wrong value in the envelope, on every page or on some. */
function lie(change: (pagination: Pagination) => object, match: FaultMatch = {}): readonly Fault[] {
  return [
    when(
      { path, ...match },
      rewriteEnvelope(({ data, pagination }) => ({
        data,
        pagination: pagination && { ...pagination, ...change(pagination) },
      })),
    ),
  ];
}

/** Pages that are not the ones asked for, under the offset that was. */
function serve(change: (page: PageWindow) => Partial<PageWindow>, match: FaultMatch = {}): readonly Fault[] {
  return [when({ path, ...match }, () => ({ page: (page) => ({ ...page, ...change(page) }) }))];
}

const FIRST_DAY_ROWS = 1_800;

/** Servers that page differently from what they say. */
export const pagingScenarios: readonly Scenario[] = [
  pagedScenario({
    name: 'ignored-offset',
    sentence: 'Every page is the first one, whatever the offset.',
    watch: 'Exit code 4 after three requests; the table stays as it was.',
    options: () => ({ faults: [when({ path }, ignoreOffset())] }),
  }),
  pagedScenario({
    name: 'wrong-offset',
    sentence: 'Every page is the first one, and says so in its offset.',
    watch: 'Exit code 4 after two requests.',
    options: () => ({ faults: [when({ path }, ignoreOffset('served'))] }),
  }),
  pagedScenario({
    name: 'repeated-pages',
    sentence: 'Every page comes twice: A, A, B, B.',
    watch: 'Exit code 4 at the second page.',
    options: () => ({ faults: serve(({ offset }) => ({ offset: offset - (offset % 198) })) }),
  }),
  pagedScenario({
    name: 'alternating-pages',
    sentence: 'Two pages come in turns: A, B, A, B.',
    watch: 'Exit code 4 at the third page.',
    options: () => ({ faults: serve(({ offset }) => ({ offset: offset % 198 })) }),
  }),
  pagedScenario({
    name: 'skipped-row',
    sentence: 'From the fifth page on every page begins a row too late.',
    watch: 'Exit code 4: two pages do not fit together, though each comes twice the same.',
    options: () => ({
      faults: serve(({ offset }) => ({ offset: offset + 1 }), { where: ({ offset }) => offset >= 396 }),
    }),
  }),
  pagedScenario({
    name: 'capped-limit',
    sentence: 'No page has more than 30 rows, whatever the limit.',
    watch: 'More requests, no row less: the next offset depends on the rows that came.',
    options: () => ({ faults: [when({ path }, capLimit(30))] }),
  }),
  pagedScenario({
    name: 'larger-pages',
    sentence: 'Pages have 250 rows where 100 were asked for.',
    watch: 'Fewer requests, and a verified scan.',
    options: () => ({ faults: serve(() => ({ limit: 250 })) }),
  }),
  pagedScenario({
    name: 'short-pages',
    sentence: 'Each page has another length.',
    watch: 'More requests, and a verified scan.',
    options: () => {
      let turn = 0;
      return {
        faults: serve(({ offset, limit }) => ({ limit: offset === 0 ? limit : 10 + ((turn++ * 31) % 90) })),
      };
    },
  }),
  pagedScenario({
    name: 'empty-page',
    sentence: 'One page in the middle comes empty, once.',
    watch: 'It is asked for again, and the scan is verified.',
    options: () => ({ faults: serve(() => ({ limit: 0 }), { offset: 297, count: 1 }) }),
  }),
  pagedScenario({
    name: 'empty-pages',
    sentence: 'Every page from the eleventh on is empty, though 1,800 rows are declared.',
    watch: 'Exit code 4: the rows that came are kept, nothing is deleted, and no restart is tried.',
    options: () => ({ faults: serve(() => ({ limit: 0 }), { where: ({ offset }) => offset >= 990 }) }),
  }),
  pagedScenario({
    name: 'lying-has-more',
    sentence: 'hasMore is true on every page, the last one included.',
    watch: 'One more page is asked for at the declared end; the scan is verified, with a note.',
    options: () => ({ faults: lie(() => ({ hasMore: true })) }),
  }),
  pagedScenario({
    name: 'has-more-false',
    sentence: 'hasMore is false on every page, the first one included.',
    watch: 'The total is believed, every row comes, and the scan is verified, with a note.',
    options: () => ({ faults: lie(() => ({ hasMore: false })) }),
  }),
  pagedScenario({
    name: 'has-more-text',
    sentence: 'hasMore is the text "true".',
    watch: 'It is not believed: the total says where the data ends.',
    options: () => ({ faults: lie(() => ({ hasMore: 'true' })) }),
  }),
  pagedScenario({
    name: 'has-more-missing',
    sentence: 'There is no hasMore.',
    watch: 'The total says where the data ends.',
    options: () => ({ faults: lie(() => ({ hasMore: undefined })) }),
  }),
  pagedScenario({
    name: 'lying-total',
    sentence: '500 rows more are declared than there are.',
    watch: 'Exit code 4: the rows that came are kept, nothing is deleted, and no restart is tried.',
    options: () => ({ faults: lie(({ total }) => ({ total: total + 500 })) }),
  }),
  pagedScenario({
    name: 'total-too-small',
    sentence: '1,000 rows are declared, and more come.',
    watch: 'Exit code 4 at the page that runs over the declared end.',
    options: () => ({ faults: lie(() => ({ total: 1_000, hasMore: true })) }),
  }),
  pagedScenario({
    name: 'total-ends-with-a-page',
    sentence: '991 rows are declared, which is where a page ends, and hasMore says that more follow.',
    watch: 'One page more shows that they do: exit code 4.',
    options: () => ({ faults: lie(() => ({ total: 991, hasMore: true })) }),
  }),
  pagedScenario({
    name: 'total-missing',
    sentence: 'No total is declared.',
    watch: 'Every row comes, and the verdict is unverified: nothing is ever deleted on its word.',
    options: () => ({ faults: [when({ path }, rewritePagination({ total: undefined }))] }),
  }),
  pagedScenario({
    name: 'total-text',
    sentence: 'The total is a text.',
    watch: 'Exit code 4 after one request.',
    options: () => ({ faults: lie(({ total }) => ({ total: String(total) })) }),
  }),
  pagedScenario({
    name: 'no-end',
    sentence: 'Neither a total nor hasMore says where the data ends.',
    watch: 'Exit code 4 after one request.',
    options: () => ({ faults: lie(() => ({ total: undefined, hasMore: undefined })) }),
  }),
  pagedScenario({
    name: 'endless',
    sentence: 'No total, hasMore is always true, and after the last row the first one comes again.',
    watch: 'Exit code 4 within two pages of the end.',
    options: () => ({
      faults: [
        ...serve(({ offset }) => ({ offset: offset % FIRST_DAY_ROWS })),
        ...lie(() => ({ total: undefined, hasMore: true })),
      ],
    }),
  }),
  pagedScenario({
    name: 'endless-first-page',
    sentence: 'No total, hasMore is always true, and every page is the first one.',
    watch: 'Exit code 4 after two requests.',
    options: () => ({
      faults: [when({ path }, ignoreOffset()), ...lie(() => ({ total: undefined, hasMore: true }))],
    }),
  }),
];
