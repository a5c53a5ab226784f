/** Flat records have lists of texts at most; nested ones a list of objects, and decimals of many digits. */
export type RecordShape = 'flat' | 'nested';

/** A record of about 420 bytes of this shape. */
export function makeRecord(
  id: number,
  version: number,
  day = dayOf(id),
  shape: RecordShape = 'flat',
): string {
  return shape === 'flat' ? makeFlat(id, version, day) : makeNested(id, version, day);
}

function makeNested(id: number, version: number, day: string): string {
  const source = (at: number) =>
    `{"url":"https://example.com/${(id * 7 + at) % 9_973}","rank":${at + 1},"share":${((id + at) % 97) / 97},"cited":${id % 2 === at}}`;
  return (
    `{"id":"rec-${String(id).padStart(9, '0')}","date":"${day}","topicId":"topic-${id % 977}",` +
    `"mentions":${(id * 7 + version) % 1_000},"visibility":${((id * 31 + version) % 7_001) / 7_001},` +
    `"rank":${id % 11 === 0 ? 'null' : id % 50},"meta":{"model":"model-${id % 5}","score":${(id % 1_000) / 7}},` +
    `"sources":[${source(0)},${source(1)}],"answer":"An answer that mentions the brand beside others."}`
  );
}

/** 12 fields: a nested object, a list, ISO dates, fractions and nulls. */
function makeFlat(id: number, version: number, day: string): string {
  return (
    `{"id":"rec-${String(id).padStart(9, '0')}","date":"${day}","topicId":"topic-${id % 977}",` +
    `"entity":"${['acme', 'globex', 'initech'][id % 3] ?? ''}","mentions":${(id * 7 + version) % 1_000},` +
    `"visibility":${((id * 31 + version) % 10_000) / 10_000},"rank":${id % 11 === 0 ? 'null' : id % 50},` +
    `"observedAt":"${day}T0${id % 10}:15:30Z","isBranded":${id % 2 === 0},` +
    `"meta":{"model":"model-${id % 5}","region":"${['eu', 'us', 'apac'][id % 3] ?? ''}","score":${(id % 1_000) / 8}},` +
    `"tags":["tag-${id % 17}","tag-${id % 19}"],"answer":"${'An answer that mentions the brand beside others. '.repeat(3).trim()}"}`
  );
}

// One of three hundred, so that the records of a day lie all over the pages.
function dayOf(id: number): string {
  return new Date(Date.UTC(2026, 0, 1) + (id % 300) * 86_400_000).toISOString().slice(0, 10);
}

export interface PageOptions {
  readonly total: number;
  readonly limit: number;
  readonly offset: number;
  readonly shape?: RecordShape;
}

/** The envelope of one page. */
export function makePage(
  { total, limit, offset, shape }: PageOptions,
  versionOf: (id: number) => number,
): string {
  const records: string[] = [];
  for (let id = offset; id < Math.min(total, offset + limit); id += 1)
    records.push(makeRecord(id, versionOf(id), undefined, shape));
  return `{"data":[${records.join(',')}],"pagination":{"total":${total},"limit":${limit},"offset":${offset},"hasMore":${offset + limit < total}}}`;
}
