import { buildNothingFoundError, type SyncError } from '../model/errors.ts';
import type { Page } from '../model/page.ts';
import type { CheckItem } from '../model/reports.ts';
import type { Settings } from '../model/settings.ts';
import { mayBeUnavailable, nameOf, sliceStream, type Stream } from '../model/stream.ts';
import { findRefusedKeys } from './plan/find-refused-keys.ts';
import { type Known, readKnown } from './plan/known-sizes.ts';
import { checkSample } from '../load/check-contract.ts';
import { describeSample } from '../load/judge-findings.ts';
import { requestPage } from '../read/request-page.ts';
import { type Asking, sampleDocument } from '../read/sample-document.ts';
import {
  findUnseenNames,
  refuseAbsentNames,
  refuseMisspelledNames,
  type Sample,
} from '../storage/unseen-names.ts';
import { attempt, okItem, type Outcome, warningItem } from './check-outcome.ts';
import { formatCountOf } from '../text/format-count.ts';

/** Records of an unpaginated answer in which config's names are looked up. */
const SAMPLE_RECORDS = 100;

/** The API and the streams to try. */
type CheckedApi = Asking & { readonly settings: Settings };

/** Asks each stream for its first page, until the API stops answering. */
export async function checkEndpoints(
  asking: CheckedApi,
  refused: SyncError | undefined,
): Promise<readonly Outcome[]> {
  const { settings, source } = asking;
  const outcomes: Outcome[] = [];
  let stopped = refused;
  let known: Known | undefined;
  // The first slice stands for all slices of a stream: one request per stream.
  const streams = settings.streams.flatMap((whole) => sliceStream(whole).slice(0, 1));
  const refusedKeys = await findRefusedKeys(settings, streams);
  for (const stream of streams) {
    if (stopped !== undefined) {
      outcomes.push({
        item: {
          name: stream.name,
          status: 'skipped',
          detail: 'not tried after the failure above',
          fix: undefined,
        },
        error: undefined,
      });
      continue;
    }
    let warnings: readonly string[] = [];
    const outcome = await attempt(stream.name, async () => {
      const checked = await checkEndpoint(asking, stream);
      warnings = checked.warnings;
      const refusal = refusedKeys.get(nameOf(stream));
      if (refusal !== undefined) throw refusal;
      return checked.item;
    });
    if (outcome.error?.code === 'stream_not_found' && !stream.named) {
      // A state that cannot be read is reported by itself.
      known ??= await readKnown(settings).catch(() => undefined);
      outcomes.push(judgeMissing(known, stream, outcome));
      continue;
    }
    // A rejected key is not the fault of the first endpoint.
    outcomes.push(
      outcome.error?.code === 'key_rejected'
        ? { ...outcome, item: { ...outcome.item, name: 'key' } }
        : outcome,
    );
    outcomes.push(
      ...warnings.map((detail) => ({ item: warningItem(stream.name, detail), error: undefined })),
    );
    if (outcome.error?.recovery === 'stop-run') stopped = outcome.error;
  }
  if (outcomes.length > 0 && outcomes.every(({ item }) => item.status === 'warning')) {
    outcomes.push(await attempt('base URL', () => Promise.reject(buildNothingFoundError(source.baseUrl))));
  }
  return outcomes;
}

/** A built-in stream may be missing, unless it was there before: then a sync fails. */
function judgeMissing(known: Known | undefined, stream: Stream, outcome: Outcome): Outcome {
  const isGone = !mayBeUnavailable(stream, known?.checkpoints.get(nameOf(stream)));
  if (isGone) return { ...outcome, isGone };
  const detail = `the API has no ${stream.path} (404); set its path, or enabled: false`;
  return { item: warningItem(stream.name, detail), error: undefined };
}

async function checkEndpoint(
  asking: CheckedApi,
  stream: Stream,
): Promise<{ readonly item: CheckItem; readonly warnings: readonly string[] }> {
  const { total, records, masked, rest, slowness } = await askEndpoint(asking, stream);
  refuseUnread(stream, { total, records, masked });
  const { hashKey } = asking.settings;
  const values = records.map(({ value }) => value);
  const findings = checkSample({ stream, hashKey }, values);
  const unknown = stream.paginated ? 'no total declared' : 'a large response, counted when it is synced';
  const rows = total === undefined ? unknown : formatCountOf(total, 'row');
  return {
    item: okItem(stream.name, `${stream.path}: ${slowness === undefined ? rows : 'a slow answer'}`),
    warnings: [
      ...[rest, slowness].filter((said) => said !== undefined),
      ...findUnseenNames(stream, records, masked),
      ...describeSample(stream, records.length, findings),
    ],
  };
}

/** Refuses names that a sync would refuse: by its first page, or by all records where this page has them all. */
function refuseUnread(stream: Stream, sample: Sample & Pick<Page, 'total'>): void {
  if (sample.records.length === sample.total) refuseAbsentNames(stream, sample);
  else refuseMisspelledNames(stream, sample);
}

async function askEndpoint(asking: Asking, stream: Stream) {
  if (!stream.paginated) return sampleDocument(asking, stream, undefined, SAMPLE_RECORDS);
  return { ...(await requestPage(asking, stream, { offset: 0 })), rest: undefined, slowness: undefined };
}
