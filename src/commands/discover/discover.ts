import path from 'node:path';
import { selectStreams } from '../../config/select-streams.ts';
import { describeFields } from '../../discover/describe-fields.ts';
import { findCursors } from '../../discover/find-cursors.ts';
import { type ParamPlan, planFilter, planStartDate } from '../../discover/plan-probes.ts';
import { proveKeys } from '../../discover/prove-keys.ts';
import { suggestConfig } from '../../discover/suggest-config.ts';
import { type Clock, systemClock } from '../../model/clock.ts';
import {
  type ContractFile,
  type DiscoveredStream,
  type DiscoverReport,
  type ParamFinding,
  type ProbeOutcome,
  saysWhatWasFound,
} from '../../model/discover-report.ts';
import {
  AbortedError,
  buildNothingFoundError,
  type ErrorCode,
  type SyncError,
  toSyncError,
} from '../../model/errors.ts';
import type { Transport } from '../../model/http.ts';
import { type ReportedError, toReportedError } from '../../model/run-report.ts';
import type { Settings } from '../../model/settings.ts';
import { sliceIdOf, sliceStream, type Stream } from '../../model/stream.ts';
import { namesField } from '../../schema/field-rules.ts';
import { toFieldName } from '../../schema/field-paths.ts';
import type { Asking } from '../../read/sample-document.ts';
import { hideSecrets } from '../../storage/hide-secrets.ts';
import { openApi } from '../../run/open-api.ts';
import { type ConfirmProbes, probeAll, type ReadSpent } from './probe-all.ts';
import { probeParam } from './probe-params.ts';
import { sampleStream, type StreamSample } from './sample-stream.ts';
import { writeContract } from './write-contracts.ts';

export interface DiscoverOptions {
  readonly streams?: readonly string[];
  /** Pages of each paginated stream to sample; 3 if omitted. */
  readonly pages?: number;
  /** Whether values of the data may be shown; true if omitted. */
  readonly examples?: boolean;
  /** Asked once, with the most requests that the limits allow; without it nothing is tried. */
  readonly confirmProbes?: ConfirmProbes | undefined;
  readonly maxRequests?: number;
  /** Saves contracts; `force` replaces files with different content. */
  readonly write?: { readonly force: boolean } | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
  readonly transport?: Transport | undefined;
}

const SAMPLED_PAGES = 3;

/**
 * Learns what endpoints contain and support from a few of their records. Takes no lock and writes no table; its
 * requests count towards the shared quota, and a spent quota ends it.
 */
export async function discover(settings: Settings, options: DiscoverOptions = {}): Promise<DiscoverReport> {
  const clock = options.clock ?? systemClock;
  const streams = selectStreams(settings, options.streams);
  const { transport, maxRequests } = options;
  const api = await openApi(
    settings,
    { transport, neverWaits: true, maxTries: 1, ...(maxRequests === undefined ? {} : { maxRequests }) },
    { clock, emit: () => undefined },
  );
  try {
    const { source } = api;
    const asking: Asking = { settings, source, signal: options.signal, clock };
    const work = new Discovery(asking, options, clock);
    await work.sampleAll(streams);
    const probes = await work.probeAll(async () => ({
      requests: source.client.usage.requests,
      quota: await api.readRoom(),
    }));
    const found = work.describeAll();
    const contracts = await writeContracts(settings, found, options);
    const quota = await source.readQuota();
    return hideSecrets(settings, {
      streams: found,
      probes,
      contracts,
      configLines: suggestLines(streams, found, contracts),
      requestsSpent: source.client.usage.requests,
      quota: quota.limit === undefined ? undefined : quota,
    });
  } finally {
    await api.close();
  }
}

interface Sampled {
  readonly stream: Stream;
  readonly taken: StreamSample | undefined;
  readonly error: SyncError | undefined;
  readonly plans: readonly ParamPlan[];
  readonly params: ParamFinding[];
}

/** The samples of one call and what else was asked. */
class Discovery {
  readonly #asking: Asking;
  readonly #options: DiscoverOptions;
  readonly #clock: Clock;
  readonly #streams: Sampled[] = [];

  constructor(asking: Asking, options: DiscoverOptions, clock: Clock) {
    this.#asking = asking;
    this.#options = options;
    this.#clock = clock;
  }

  async sampleAll(streams: readonly Stream[]): Promise<void> {
    let stopped: SyncError | undefined;
    for (const whole of streams) {
      // Slices are alike: one of them shows the fields of all.
      const [stream = whole] = sliceStream(whole);
      try {
        // A rejected key or a spent quota fails every other request as well.
        if (stopped !== undefined) throw stopped;
        const taken = await sampleStream(this.#asking, stream, this.#options.pages ?? SAMPLED_PAGES);
        this.#streams.push({ stream, taken, error: undefined, plans: this.#plan(stream, taken), params: [] });
      } catch (thrown) {
        const error = toSyncError(thrown);
        if (error instanceof AbortedError) throw error;
        if (error.recovery === 'stop-run') stopped = error;
        this.#streams.push({ stream, taken: undefined, error, plans: [], params: [] });
      }
    }
    const isMissing = ({ stream, error }: Sampled) => error?.code === 'stream_not_found' && !stream.named;
    if (this.#streams.every(isMissing)) throw buildNothingFoundError(this.#asking.source.baseUrl);
  }

  #plan(stream: Stream, { sample, base, serverDateMs }: StreamSample): readonly ParamPlan[] {
    // Nothing can be learned about an endpoint that is empty without parameters.
    if (base.rows === 0 || sample.rows.length === 0) return [];
    const { filterParams } = this.#asking.source.connector;
    const startParam = stream.cursor.kind === 'off' ? undefined : stream.cursor.param;
    const nowMs = serverDateMs ?? this.#clock.now();
    const cursors = findCursors(sample).map(({ column }) => column);
    return [
      ...(startParam === undefined ? [] : [planStartDate(startParam, sample, cursors, nowMs)]),
      ...filterParams
        .filter((param) => param !== startParam)
        .map((param) => planFilter(param, sample, stream, (field) => isRuled(stream, field))),
    ];
  }

  probeAll(readSpent: ReadSpent): Promise<ProbeOutcome> {
    const { examples, confirmProbes, maxRequests } = this.#options;
    const sampled = this.#streams.flatMap((one) =>
      one.taken === undefined ? [] : [{ ...one, taken: one.taken }],
    );
    const probe = ({ stream, taken }: (typeof sampled)[number], plan: ParamPlan) =>
      probeParam({ asking: this.#asking, stream, base: taken.base }, plan, {
        showsValues: examples !== false,
      });
    return probeAll(sampled, { confirmProbes, maxRequests, readSpent, probe, report });
  }

  describeAll(): readonly DiscoveredStream[] {
    return this.#streams.map((one) => this.#describe(one));
  }

  #describe({ stream, taken, error, params }: Sampled): DiscoveredStream {
    const base = { stream: stream.name, slice: sliceIdOf(stream) };
    const nothing = { sample: undefined, fields: [], excluded: [], keys: [], cursors: [], params, notes: [] };
    if (error?.code === 'stream_not_found' && !stream.named)
      return { ...base, status: 'unavailable', ...nothing, error: undefined };
    if (taken === undefined) return { ...base, status: 'failed', ...nothing, error: error && report(error) };
    const { sample, facts, masked, notes } = taken;
    const cursors = findCursors(sample);
    const isHashed = (field: readonly string[]) => isRuled(stream, field, 'hash');
    return {
      ...base,
      status: 'sampled',
      sample: facts,
      fields: describeFields(sample, { examples: this.#options.examples !== false, isHashed }),
      excluded: [...masked].filter((field) => stream.columns[field]?.kind === 'exclude'),
      keys: proveKeys(sample, chooseCursor(stream, sample.columns, cursors, params)),
      cursors: cursors.map(({ column: _, ...cursor }) =>
        this.#options.examples === false ? { ...cursor, oldest: undefined, newest: undefined } : cursor,
      ),
      params,
      notes: [...noteSlice(stream), ...notes],
      error: undefined,
    };
  }
}

// Their hints mention saved progress, which a sample does not have.
function report(error: SyncError): ReportedError {
  const hints: Partial<Record<ErrorCode, string>> = {
    request_limit_reached: 'Raise --max-requests, or name fewer streams.',
    quota_exhausted: 'Run it again then; nothing was changed.',
  };
  const reported = toReportedError(error);
  return { ...reported, hint: hints[error.code] ?? reported.hint };
}

// As a sync does: a cursor that the endpoint ignores is not part of a key.
function chooseCursor(
  stream: Stream,
  columns: StreamSample['sample']['columns'],
  cursors: readonly { readonly column: string }[],
  params: readonly ParamFinding[],
): string | undefined {
  const { cursor } = stream;
  if (cursor.kind === 'off') return undefined;
  if (cursor.kind === 'field') return columns.find(({ path: at }) => namesField(cursor.field, at))?.name;
  const isIgnored = params.some(({ param, verdict }) => param === cursor.param && verdict === 'ignored');
  return isIgnored ? undefined : cursors[0]?.column;
}

function isRuled({ columns }: Stream, field: readonly string[], kind?: 'hash'): boolean {
  const names = field.map(toFieldName);
  return Object.entries(columns).some(
    ([rule, { kind: found }]) =>
      found !== 'type' && (kind === undefined || found === kind) && namesField(rule, names),
  );
}

function noteSlice({ slice, slices }: Stream): readonly string[] {
  return slice === undefined ? [] : [`sampled one slice of ${slices.length}: ${slice.id}`];
}

async function writeContracts(
  { configPath }: Settings,
  found: readonly DiscoveredStream[],
  { write }: DiscoverOptions,
): Promise<readonly ContractFile[]> {
  const files: ContractFile[] = [];
  const baseDir = configPath === undefined ? process.cwd() : path.dirname(configPath);
  for (const stream of write === undefined ? [] : found) {
    if (stream.fields.length > 0) files.push(await writeContract(baseDir, stream, write?.force === true));
  }
  return files;
}

function suggestLines(
  streams: readonly Stream[],
  found: readonly DiscoveredStream[],
  contracts: readonly ContractFile[],
): string | undefined {
  return suggestConfig(
    found.flatMap((one) => {
      const stream = streams.find(({ name }) => name === one.stream);
      const hasContract = contracts.some((file) => file.stream === one.stream && saysWhatWasFound(file));
      return stream === undefined ? [] : [{ stream, found: one, hasContract }];
    }),
  );
}
