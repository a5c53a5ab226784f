import { NotFoundError, ResponseError } from '../../model/errors.ts';
import type { Page } from '../../model/page.ts';
import { nameOf, type Stream } from '../../model/stream.ts';
import type { RunContext } from '../run-context.ts';
import type { ScanPlan } from '../scan-plan.ts';
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

/** A page refused at its offset, while those before it were answered, says nothing about the stream as a whole. */
function blameOffset(stream: Stream, offset: number, thrown: unknown): unknown {
  const refused =
    thrown instanceof NotFoundError ||
    (thrown instanceof ResponseError && thrown.code === 'request_rejected');
  if (!refused) return thrown;
  return new ResponseError(
    `${nameOf(stream)}: the API refuses the page at offset ${offset}, though it answers earlier ones: ${thrown.message}`,
    {
      code: 'page_unreadable',
      hint: `The table is as it was. If the API serves no larger offsets, read less at once: cut the stream into slices (streams.${stream.name}.sliceBy) or narrow it with params.`,
      context: { ...thrown.context, offset },
      cause: thrown,
    },
  );
}
