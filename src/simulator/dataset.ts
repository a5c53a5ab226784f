import { buildMentions } from './dataset-mentions.ts';
import { buildCategoryProducts, buildTopProducts } from './dataset-products.ts';
import { buildPromptsAnalytics } from './dataset-prompts.ts';
import { TOPIC_IDS } from './dataset-vocabulary.ts';
import type { EndpointOptions, RecordList } from './endpoint.ts';
import { addDays, listDays } from './iso-day.ts';

/** How much the built-in endpoints hold. */
export interface DatasetSizes {
  /** Days that the first day's dated endpoints reach back, that day included. */
  readonly historyDays: number;
  readonly prompts: number;
  readonly mentionsPerDay: number;
  readonly categories: number;
  readonly productsPerCategory: number;
  readonly ranksPerRegion: number;
}

/** What the data depends on, in addition to the day. */
export interface DatasetOptions {
  readonly seed: number;
  readonly sizes: DatasetSizes;
  /** Oldest day there is; without one the oldest day leaves as a new one comes. */
  readonly firstDay: string | undefined;
  /** How many days later than made each record's dates are served. `firstDay` is a day as made. */
  readonly shiftDays: number;
}

/** Members of records whose texts begin with a day. */
const DATED = ['date', 'createdAt', 'updatedAt'];

/** The demo's sizes: 1,800 prompt rows, 900 mentions, 420 and 600 product rows on the first day. */
export const DEMO_SIZES: DatasetSizes = {
  historyDays: 30,
  prompts: 60,
  mentionsPerDay: 30,
  categories: 12,
  productsPerCategory: 35,
  ranksPerRegion: 5,
};

/** The built-in endpoints by path. */
export function createDataset(options: DatasetOptions): Readonly<Record<string, EndpointOptions>> {
  const endpoints = createUnshifted(options);
  const { shiftDays } = options;
  if (shiftDays === 0) return endpoints;
  return Object.fromEntries(
    Object.entries(endpoints).map(([path, { records, ...endpoint }]) => [
      path,
      { ...endpoint, records: (day) => shiftDates(records(addDays(day, -shiftDays)), shiftDays) },
    ]),
  );
}

function shiftDates(records: RecordList, days: number): RecordList {
  return { length: records.length, at: (index) => shiftRecord(records.at(index) as object, days) };
}

function shiftRecord(record: object, days: number): object {
  const shift = ([name, value]: [string, unknown]) =>
    DATED.includes(name) ? [name, shiftText(String(value), days)] : [name, value];
  return Object.fromEntries(Object.entries(record).map(shift)) as object;
}

/** A date, or a time that begins with one, some days later. */
function shiftText(text: string, days: number): string {
  return `${addDays(text.slice(0, 10), days)}${text.slice(10)}`;
}

function createUnshifted(options: DatasetOptions): Readonly<Record<string, EndpointOptions>> {
  const { seed, sizes } = options;
  const days = (day: string) => listDays(options.firstDay ?? addDays(day, 1 - sizes.historyDays), day);
  const newestFirst = (day: string) => days(day).toReversed();
  return {
    'visibility/mentions': {
      paginated: false,
      dateField: 'date',
      topicIds: TOPIC_IDS,
      records: (day) => buildMentions(seed, day, days(day), sizes.mentionsPerDay),
    },
    'prompts/analytics': {
      paginated: true,
      dateField: 'date',
      topicIds: TOPIC_IDS,
      // Newest first, as dashboards show them: each refresh shifts every offset.
      records: (day) => buildPromptsAnalytics(seed, day, newestFirst(day), sizes.prompts),
    },
    'commerce/category-products': {
      paginated: true,
      records: (day) => buildCategoryProducts(seed, day, sizes.categories, sizes.productsPerCategory),
    },
    'commerce/top-products': {
      paginated: true,
      dateField: 'date',
      defaultLimit: 5,
      records: (day) => buildTopProducts(seed, day, newestFirst(day), sizes.ranksPerRegion),
    },
  };
}
