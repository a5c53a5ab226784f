import type { Page } from '../../model/page.ts';
import type { Stream } from '../../model/stream.ts';
import { blameOffset } from '../load/refuse-scan.ts';
import type { RunContext } from '../run-context.ts';
import type { ScanPlan } from '../scan.ts';
import { requestPage } from './request-page.ts';

/** Asks for the pages of a scan; notes in `masked` which fields were masked in them. */
export function createRequest(
  { client, settings, signal }: RunContext,
  stream: Stream,
  plan: ScanPlan,
  masked: Set<string>,
): (offset: number) => Promise<Page> {
  return async (offset) => {
    try {
      const page = await requestPage(settings, client, stream, plan.from, offset, signal, {
        isKept: true,
      });
      for (const field of page.masked ?? []) masked.add(field);
      return page;
    } catch (thrown) {
      throw offset === 0 ? thrown : blameOffset(stream, offset, thrown);
    }
  };
}
