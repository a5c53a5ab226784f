import type { Page, PageRecord } from '../../src/model/page.ts';
import { Coverage } from '../../src/read/coverage.ts';
import type { AcceptedPage, StagedPage } from '../../src/stage/scanned-page.ts';
import type { Segment } from '../../src/read/segments.ts';

/** What a server answers to its `n`th request. */
export type Server = (offset: number, n: number) => Page;

export interface DriveOptions {
  readonly pageSize: number;
  /** Requests on their way at once. */
  readonly concurrency?: number;
  /** Which of them is answered next; numbers of any size, used in turn. */
  readonly picks?: readonly number[];
  /** Requests that fail before they are asked again. */
  readonly fails?: (n: number) => boolean;
  readonly mostRequests?: number;
  readonly coverage?: Coverage;
}

export interface Drive {
  readonly coverage: Coverage;
  readonly accepted: readonly AcceptedPage[];
  /** Kept records with their positions, in the order they came. */
  readonly kept: readonly (readonly [position: number, record: unknown])[];
  readonly answers: readonly { readonly segment: Segment; readonly page: Page }[];
  readonly requests: number;
  /** False when the driver gave up: the coverage never had enough. */
  readonly ended: boolean;
}

/** Reads a server to its end as a scan does, with the answers in an order of one's own. */
export function driveCoverage(server: Server, options: DriveOptions): Drive {
  const { concurrency = 1, picks = [0], fails = () => false, mostRequests = 10_000 } = options;
  const coverage = options.coverage ?? new Coverage(options.pageSize);
  const accepted: AcceptedPage[] = [];
  const kept: (readonly [number, unknown])[] = [];
  const answers: { segment: Segment; page: Page }[] = [];
  const inFlight: Segment[] = [];
  let requests = 0;
  for (;;) {
    while (inFlight.length < concurrency) {
      const segment = coverage.takeSegment();
      if (segment === undefined) break;
      inFlight.push(segment);
    }
    if (inFlight.length === 0) return { coverage, accepted, kept, answers, requests, ended: true };
    if (requests >= mostRequests) return { coverage, accepted, kept, answers, requests, ended: false };
    const [segment] = inFlight.splice((picks[requests % picks.length] ?? 0) % inFlight.length, 1);
    const n = requests++;
    if (segment === undefined) continue;
    if (fails(n)) {
      coverage.returnSegment(segment);
      continue;
    }
    const page = server(segment.start, n);
    const taken = coverage.accept(segment, page);
    answers.push({ segment, page });
    accepted.push(taken);
    kept.push(...taken.kept.map(({ value }, at) => [taken.firstPosition + at, value] as const));
  }
}

export function makePage(
  offset: number,
  values: readonly unknown[],
  total: number | undefined,
  hasMore: boolean | undefined,
): Page {
  const records = values.map((value): PageRecord => ({ text: JSON.stringify(value), value, exact: false }));
  return { offset, records, total, hasMore, duplicateMembers: 0, serverDateMs: undefined };
}

export interface PagingRules {
  /** Most records of the `n`th answer. */
  readonly sizes: readonly number[];
  readonly tellsTotal: boolean;
}

/** A server of a dataset that pages as it likes. */
export function serveRows(
  rowsAt: (n: number) => readonly unknown[],
  { sizes, tellsTotal }: PagingRules,
): Server {
  return (offset, n) => {
    const rows = rowsAt(n);
    const values = rows.slice(offset, offset + (sizes[n % sizes.length] ?? 2));
    return makePage(
      offset,
      values,
      tellsTotal ? rows.length : undefined,
      offset + values.length < rows.length,
    );
  };
}

/** A page as the stage gives it back. */
export function toStaged({ kept, ...page }: AcceptedPage): StagedPage {
  const { offset, firstPosition, firstHash, lastHash, total, textHash } = page;
  return { offset, firstPosition, rows: kept.length, firstHash, lastHash, total, textHash };
}
