import type { RowsAnswer } from '../discover/judge-params.ts';
import { hashPage } from '../json/fingerprint.ts';
import type { SampleFacts } from '../model/discover-report.ts';
import type { Page } from '../model/page.ts';
import type { Stream } from '../model/stream.ts';
import { isRecordObject } from '../schema/observe-fields.ts';
import { requestPage } from './request-page.ts';
import { type Asking, sampleDocument } from './sample-document.ts';

/** Most records of an unpaginated answer that are looked at. */
const MOST_RECORDS = 20_000;

/** One answer: the first page of a stream, or as much of an unpaginated one as a sample takes. */
export interface FirstAnswer {
  readonly rows: RowsAnswer;
  readonly page: Page;
  readonly place: SampleFacts['place'];
  /** Says that it had not ended in time. */
  readonly slowness?: string | undefined;
  /** What in an unpaginated answer says that it is one page of several. */
  readonly rest?: string | undefined;
}

/** Asks for a stream's first records; `from` is a start date (ISO). */
export async function askFirst(asking: Asking, stream: Stream, from?: string): Promise<FirstAnswer> {
  if (stream.paginated) {
    const page = await requestPage(asking, stream, { from, offset: 0 });
    const pointer = stream.recordsPointer ?? asking.source.connector.paging.records;
    return toFirst(page, { pointer, kind: 'array' });
  }
  const document = await sampleDocument(asking, stream, from, MOST_RECORDS);
  const { records, total, serverDateMs, masked, place, rest, slowness } = document;
  const hasMore = total === undefined || records.length < total;
  const page = { offset: 0, records, total, hasMore, duplicateMembers: 0, serverDateMs };
  const first = toFirst(masked === undefined ? page : { ...page, masked }, place);
  return { ...first, rest, slowness };
}

function toFirst(page: Page, place: SampleFacts['place']): FirstAnswer {
  const rows = page.total ?? (page.hasMore === false ? page.records.length : undefined);
  const records = page.records.map(({ value }) => value).filter(isRecordObject);
  return { page, place, rows: { kind: 'rows', rows, records, head: hashPage(page) } };
}
