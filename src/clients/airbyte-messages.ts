import type { ChangePosition, SentRow } from '../model/client-stream.ts';
import { CHANGED_AT, DELETED_AT } from './airbyte-catalog.ts';
import { connectionSpecification } from './connection-spec.ts';

/** One line of the protocol. */
type Message = Readonly<Record<string, unknown>>;

/** What `spec` answers. */
export function specMessage(): Message {
  return {
    type: 'SPEC',
    spec: {
      protocol_version: '0.2.0',
      supportsIncremental: true,
      connectionSpecification,
    },
  };
}

/** What `check` answers. */
export function connectionMessage(problem: string | undefined): Message {
  const connectionStatus =
    problem === undefined ? { status: 'SUCCEEDED' } : { status: 'FAILED', message: problem };
  return { type: 'CONNECTION_STATUS', connectionStatus };
}

/** What `discover` answers. */
export function catalogMessage(streams: readonly object[]): Message {
  return { type: 'CATALOG', catalog: { streams } };
}

/** A sentence for the log of the platform. */
export function logMessage(level: 'INFO' | 'WARN' | 'ERROR', message: string): Message {
  return { type: 'LOG', log: { level, message } };
}

/** How far the stream is; `resetAtMs` says when a quota that stopped it is full again. */
export function statusMessage(
  stream: string,
  status: 'STARTED' | 'RUNNING' | 'COMPLETE' | 'INCOMPLETE',
  { nowMs, quotaReset }: { readonly nowMs: number; readonly quotaReset?: number | undefined },
): Message {
  const reasons = [{ type: 'RATE_LIMITED', rate_limited: { quota_reset: quotaReset } }];
  const streamStatus = {
    stream_descriptor: { name: stream },
    status,
    ...(quotaReset !== undefined && { reasons }),
  };
  return traceMessage('STREAM_STATUS', nowMs, { stream_status: streamStatus });
}

/** Why something failed, as platforms show it. */
export interface ShownFailure {
  readonly message: string;
  readonly internal: string;
  readonly type: 'config_error' | 'transient_error' | 'system_error';
  /** The stream it is of; undefined for the whole read. */
  readonly stream?: string | undefined;
}

/** A failure; the process has to end with another code than 0 as well. */
export function errorMessage({ message, internal, type, stream }: ShownFailure, nowMs: number): Message {
  const error = {
    message,
    internal_message: internal,
    failure_type: type,
    ...(stream !== undefined && { stream_descriptor: { name: stream } }),
  };
  return traceMessage('ERROR', nowMs, { error });
}

function traceMessage(type: string, nowMs: number, body: object): Message {
  return { type: 'TRACE', trace: { type, emitted_at: nowMs, ...body } };
}

/** Where a client is in a stream, once it has the records before it. */
export function stateMessage(stream: string, position: ChangePosition, records: number): Message {
  return {
    type: 'STATE',
    state: {
      type: 'STREAM',
      stream: { stream_descriptor: { name: stream }, stream_state: position },
      sourceStats: { recordCount: records },
    },
  };
}

/** The text of RECORD messages: values are written as they came, so that none is rounded. */
export function createRecordWriter(
  stream: string,
  {
    version,
    isKeyed,
    nowMs,
  }: { readonly version: number; readonly isKeyed: boolean; readonly nowMs: number },
): (row: SentRow) => string {
  const begin = `{"type":"RECORD","record":{"stream":${JSON.stringify(stream)},"data":{`;
  const end = `},"emitted_at":${nowMs}}}\n`;
  if (!isKeyed) return ({ members }) => `${begin}${members}${end}`;
  const here = `"${CHANGED_AT}":${version},"${DELETED_AT}":null`;
  return ({ members, deletedAt }) => {
    const changes =
      deletedAt === undefined
        ? here
        : `"${CHANGED_AT}":${version},"${DELETED_AT}":${JSON.stringify(deletedAt)}`;
    return `${begin}${members === '' ? '' : `${members},`}${changes}${end}`;
  };
}
