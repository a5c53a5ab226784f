import { judgeRun } from '../../clients/judge-run.ts';
import { selectStreams } from '../../config/select-streams.ts';
import type { ClientStream } from '../../model/client-stream.ts';
import {
  AbortedError,
  ConfigError,
  NetworkError,
  QuotaError,
  StreamEndError,
  type SyncError,
} from '../../model/errors.ts';
import type { EndedRun } from '../../model/run-observer.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import type { OpenConnection } from './open-connection.ts';
import { syncFirst } from './sync-first.ts';

/** What a client can choose from. */
export interface FoundStreams {
  readonly streams: readonly ClientStream[];
  /** Streams that are not listed, and why: sentences. */
  readonly missing: readonly string[];
}

/**
 * Finds every column of every stream. A stream that was never synced is synced now: its pages are kept, and a sample
 * would miss the columns of rare records.
 *
 * @throws the failure of that sync, if it leaves nothing to list
 */
export async function findStreams(
  context: CliContext,
  globals: GlobalValues,
  connection: OpenConnection,
): Promise<FoundStreams> {
  const { settings } = connection;
  const { clients } = context.engine;
  const names = selectStreams(settings, connection.streams).map(({ name }) => name);
  const known = await clients.listStreams(settings, names);
  const unknown = names.filter((name) => !known.some((stream) => stream.name === name));
  if (unknown.length === 0) return { streams: known, missing: [] };
  const ended = await syncFirst(context, globals, connection, unknown);
  if (ended.error instanceof AbortedError) throw ended.error;
  const streams = await clients.listStreams(settings, names);
  const left = unknown.filter((name) => !streams.some((stream) => stream.name === name));
  if (streams.length === 0) throw explainNothing(ended, left);
  const { ends } = judgeRun(ended, left);
  const missing = left.map((name) => {
    const end = ends.get(name);
    const why = end === undefined || end.kind === 'complete' ? 'it has no records' : end.error.message;
    return `${name} is not listed: ${why}. Discover again once it has been synced.`;
  });
  return { streams, missing };
}

function explainNothing(ended: EndedRun, names: readonly string[]): SyncError {
  if (ended.error !== undefined) return ended.error;
  const [end] = [...judgeRun(ended, names).ends.values()].filter(({ kind }) => kind !== 'complete');
  if (end === undefined || end.kind === 'complete')
    return new ConfigError('no stream has records yet', {
      code: 'query_failed',
      hint: 'Discover again once the API has some.',
    });
  const { code, message, hint, exitCode } = end.error;
  const text = `nothing is synced yet, so no column is known: ${message}`;
  if (exitCode !== 75) return new StreamEndError(text, { code, hint, exitCode });
  return end.kind === 'limited'
    ? new QuotaError(text, { code, hint })
    : new NetworkError(text, { code, hint });
}
