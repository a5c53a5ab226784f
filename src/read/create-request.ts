import { NotFoundError, ResponseError } from '../model/errors.ts';
import type { Page } from '../model/page.ts';
import { nameOf, type Stream } from '../model/stream.ts';
import type { Reading } from '../run/run-context.ts';
import type { ScanPlan } from '../plan/scan-plan.ts';
import { describeRequest } from '../http/describe-request.ts';
import { withoutPlace } from '../text/name-once.ts';
import { requestPage } from './request-page.ts';

/** Asks for the pages of a scan; notes in `masked` which fields were masked in them. */
export function createRequest(
  context: Reading,
  stream: Stream,
  plan: ScanPlan,
  masked: Set<string>,
): (offset: number) => Promise<Page> {
  return async (offset) => {
    try {
      const page = await requestPage(context, stream, { from: plan.from, offset, isKept: true });
      for (const field of page.masked ?? []) masked.add(field);
      return page;
    } catch (thrown) {
      throw offset === 0 ? thrown : blameOffset(stream, offset, thrown);
    }
  };
}

/**
 * A page rejected at its offset, after earlier pages were returned, does not mean that the whole stream is rejected.
 */
function blameOffset(stream: Stream, offset: number, thrown: unknown): unknown {
  const refused =
    thrown instanceof NotFoundError ||
    (thrown instanceof ResponseError && thrown.code === 'request_rejected');
  if (!refused) return thrown;
  const why = withoutPlace(thrown.message, describeRequest({ stream: stream.name, offset }));
  return new ResponseError(
    `${nameOf(stream)}: the API rejects the page at offset ${offset}, although it returns earlier ones: ${why}`,
    {
      code: 'page_unreadable',
      hint: `The table is unchanged. If the API does not support larger offsets, read less at once: cut the stream into slices (streams.${stream.name}.sliceBy) or narrow it with params.`,
      context: { ...thrown.context, offset },
      cause: thrown,
    },
  );
}
