import { RawJson } from './raw-json.ts';
import { pagedScenario, type Scenario, SCENARIO_PATH as path } from './scenario.ts';
import type { Reshape } from './simulator-options.ts';

/** Data that is as usual on the first day, and otherwise from the second on. */
function fromDayTwo(change: (records: readonly unknown[]) => readonly unknown[]): {
  readonly reshape: Readonly<Record<string, Reshape>>;
} {
  return { reshape: { [path]: (records, daysOn) => (daysOn === 0 ? records : change(records)) } };
}

const nextDay = ['sync', 'advance-day', 'sync --force'] as const;

/** A record that is no longer valid; filters still find it by its day. */
function breakRecord(record: unknown, at: number): RawJson {
  return new RawJson(JSON.stringify(`broken ${at}`), record as Readonly<Record<string, unknown>>);
}

/** Data that changes overnight. */
export const dayScenarios: readonly Scenario[] = [
  pagedScenario({
    name: 'emptied',
    sentence: 'From the second day on there are no rows at all.',
    watch: 'Exit code 4: the table is kept, unless --allow-empty says that it is true.',
    steps: nextDay,
    options: () => fromDayTwo(() => []),
  }),
  pagedScenario({
    name: 'gone-rows',
    sentence: 'From the second day on every tenth row is gone.',
    watch: 'The full sync counts the rows that no longer come; what becomes of them, `deletes` says.',
    steps: ['sync', 'advance-day', 'sync --full-refresh'],
    options: () => fromDayTwo((records) => records.filter((_, at) => at % 10 > 0)),
  }),
  pagedScenario({
    name: 'stale-day',
    sentence: 'The daily refresh does not come: a day later the data is what it was.',
    watch: 'A sync a day later, by the clock, succeeds and notes that no newer rows came.',
    steps: nextDay,
    options: () => {
      let first: readonly unknown[] | undefined;
      return { reshape: { [path]: (records) => (first ??= records) } };
    },
  }),
  pagedScenario({
    name: 'schema-change',
    sentence: 'From the second day on records have a field more, and one less.',
    watch:
      'A column is added and named, another one stays with nulls; the next full sync names that one, too.',
    steps: nextDay,
    options: () =>
      fromDayTwo((records) =>
        records.map((record) => {
          const { rank: _rank, ...rest } = record as { readonly rank: unknown };
          return { ...rest, sentiment: 'positive' };
        }),
      ),
  }),
  pagedScenario({
    name: 'type-change',
    sentence: 'From the second day on a number is a text.',
    watch: 'No value is lost: the column is widened, or the texts go to a column of their own.',
    steps: nextDay,
    options: () =>
      fromDayTwo((records) => records.map((record) => ({ ...(record as object), mentions: 'many' }))),
  }),
  pagedScenario({
    name: 'bad-records',
    sentence: 'Two records of a hundred are not objects.',
    watch: 'They go to quarantine whole, and a warning counts them.',
    options: () => ({
      reshape: {
        [path]: (records) => records.map((record, at) => (at % 50 === 7 ? breakRecord(record, at) : record)),
      },
    }),
  }),
  pagedScenario({
    name: 'mostly-bad-records',
    sentence: 'Every third record is not an object.',
    watch: 'Exit code 4 before anything is loaded: more than maxInvalidRatio of the records are invalid.',
    options: () => ({
      reshape: {
        [path]: (records) => records.map((record, at) => (at % 3 === 1 ? breakRecord(record, at) : record)),
      },
    }),
  }),
  pagedScenario({
    name: 'twin-rows',
    sentence: 'The first five rows come again at the end, equal in every field.',
    watch:
      'One pair is asked for again: it is still there, so it is the source’s own, and all rows are kept.',
    options: () => ({ reshape: { [path]: (records) => [...records, ...records.slice(0, 5)] } }),
  }),
];
