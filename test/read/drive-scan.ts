import { hashPage } from '../../src/json/fingerprint.ts';
import type { Page } from '../../src/model/page.ts';
import type { Verdict } from '../../src/model/run-report.ts';
import { Coverage } from '../../src/read/coverage.ts';
import { decideVerdict } from '../../src/read/decide-verdict.ts';
import { JointRepair } from '../../src/read/repair-joint.ts';
import { requestPages } from '../../src/read/request-pages.ts';
import type { Server } from './drive-coverage.ts';
import { makeStream } from '../support/fixtures.ts';

export interface ScanDriveOptions {
  readonly pageSize: number;
  readonly concurrency: number;
  /** How many turns of the event loop each answer takes, in turn. */
  readonly delays: readonly number[];
  readonly mostRequests?: number;
}

export interface ScanDrive {
  readonly verdict: Verdict;
  readonly reasons: readonly string[];
  /** Values by position. */
  readonly values: readonly unknown[];
  readonly requests: number;
  readonly pagesAgain: boolean;
  /** Why the source was refused, when it was. */
  readonly refused: string | undefined;
}

/** One pass over a server as a scan makes it, with its stage in memory: pages, repairs, the head once more. */
export async function driveScan(server: Server, options: ScanDriveOptions): Promise<ScanDrive> {
  const { concurrency, delays, mostRequests = Infinity } = options;
  const coverage = new Coverage(options.pageSize);
  let requests = 0;
  // What is answered is decided when the request arrives; when it comes back, by its delay.
  const request = async (offset: number): Promise<Page> => {
    const n = requests++;
    if (n >= mostRequests) throw new RangeError(`more than ${mostRequests} requests`);
    const page = server(offset, n);
    for (let turn = delays[n % delays.length] ?? 0; turn > 0; turn -= 1) await Promise.resolve();
    return page;
  };
  const joints = new JointRepair({ stream: makeStream(), coverage, request, signal: undefined });
  const values: unknown[] = [];
  try {
    for await (const { segment, page } of requestPages(coverage, concurrency, ({ start }) =>
      request(start),
    )) {
      const fitted = await joints.fit(segment, page);
      if (fitted === undefined) continue;
      const { firstPosition, kept } = coverage.accept(segment, fitted.page);
      for (const [at, { value }] of kept.entries()) values[firstPosition + at] = value;
      if (coverage.moved) break;
    }
    const { complete, pages, problems, moved, total, rows, headHash } = coverage;
    const asksHead = complete && !moved && (pages > 1 || problems.length > 0);
    const headUnchanged = asksHead ? hashPage(await request(0)) === headHash : undefined;
    const judged = decideVerdict({ complete, problems, moved, total, rows, headUnchanged, limited: false });
    return { ...judged, values, requests, pagesAgain: joints.notes.length > 0, refused: undefined };
  } catch (thrown) {
    if (thrown instanceof RangeError) throw thrown;
    const refused = (thrown as Error).message;
    return { verdict: 'drifted', reasons: [], values, requests, pagesAgain: true, refused };
  }
}
