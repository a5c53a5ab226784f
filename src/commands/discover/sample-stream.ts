import type { RowsAnswer } from '../../discover/judge-params.ts';
import { type Sample, takeSample } from '../../discover/sample.ts';
import { hashPage } from '../../json/fingerprint.ts';
import type { SampleFacts } from '../../model/discover-report.ts';
import type { Page } from '../../model/page.ts';
import type { Stream } from '../../model/stream.ts';
import { isRecordObject } from '../../schema/observe-fields.ts';
import { listSliceValues } from '../../schema/mask-records.ts';
import { orderOf } from '../../orders/orders.ts';
import type { PageAsked } from '../../orders/page-order.ts';
import { pickPages } from '../../read/pick-pages.ts';
import { requestPage } from '../../read/request-page.ts';
import { askFirst } from '../../read/ask-first.ts';
import type { Asking } from '../../read/sample-document.ts';

/** Some records of a stream, and what is known about the rest. */
export interface StreamSample {
  readonly sample: Sample;
  readonly facts: SampleFacts;
  /** The response with which probed parameters are compared. */
  readonly base: RowsAnswer;
  /** Fields of config's rules that were found. */
  readonly masked: ReadonlySet<string>;
  readonly serverDateMs: number | undefined;
  readonly notes: readonly string[];
}

/** Samples a stream: its first page, its last one and some between them; one answer if it has no pages. */
export async function sampleStream(asking: Asking, stream: Stream, pages: number): Promise<StreamSample> {
  const first = await askFirst(asking, stream);
  const later = stream.paginated ? await askLater(asking, stream, first.page, pages) : [];
  const repeated = later.filter((page) => hashRecords(page) === hashRecords(first.page));
  const taken = [first.page, ...later.filter((page) => !repeated.includes(page))];
  const values = taken.flatMap((page) => page.records.map(({ value }) => fillSlice(asking, stream, value)));
  const sample = takeSample(values);
  const { rows } = first.rows;
  return {
    sample,
    facts: {
      records: sample.rows.length,
      notObjects: sample.notObjects,
      pages: 1 + later.length,
      total: rows,
      isWhole: rows === values.length,
      place: first.place,
    },
    base: first.rows,
    masked: new Set(taken.flatMap((page) => [...(page.masked ?? [])])),
    serverDateMs: first.page.serverDateMs,
    notes: [
      ...[first.rest, first.slowness].filter((said) => said !== undefined),
      ...noteMovedTotal(first.page, later),
      ...noteRepeatedPages(repeated),
    ],
  };
}

async function askLater(asking: Asking, stream: Stream, head: Page, pages: number): Promise<readonly Page[]> {
  // A server may return less than it was asked for.
  const pageSize = Math.max(1, Math.min(stream.pageSize, head.records.length));
  const order = orderOf(asking.source.connector.paging);
  const ask = (page: PageAsked) => requestPage(asking, stream, page);
  const picked = pickPages(order, head, { size: pageSize, pages });
  const later: Page[] = [];
  if (picked !== undefined) {
    for (const page of picked) later.push(await ask(page));
    return later;
  }
  for (let next = order.follow(head); next !== undefined && later.length < pages - 1;) {
    const page = await ask(next);
    later.push(page);
    next = order.follow(page);
  }
  return later;
}

// As a sync does: a contract made from the sample must have these fields, too.
function fillSlice({ settings }: Asking, stream: Stream, value: unknown): unknown {
  if (stream.slice === undefined || !isRecordObject(value)) return value;
  const lacking = Object.entries(listSliceValues(stream, settings.hashKey)).filter(
    ([name]) => !Object.hasOwn(value, name),
  );
  return { ...value, ...Object.fromEntries(lacking) };
}

function hashRecords(page: Page): string {
  return hashPage({ ...page, total: undefined });
}

function noteMovedTotal(head: Page, later: readonly Page[]): readonly string[] {
  const moved = later.find(({ total }) => total !== head.total);
  return moved === undefined
    ? []
    : [
        `the data changed while it was sampled: the total was ${String(head.total)}, then ${String(moved.total)}`,
      ];
}

function noteRepeatedPages(repeated: readonly Page[]): readonly string[] {
  const [page] = repeated;
  if (page === undefined || page.records.length < 2) return [];
  return [`the page at offset ${page.offset} repeats the first page: the API may ignore the offset`];
}
