/** The span of another program that a run belongs to. */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
  readonly traceState: string | undefined;
}

const PATTERN = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/**
 * Reads TRACEPARENT and TRACESTATE, which orchestrators set for the programs they start. Undefined for what W3C Trace
 * Context calls invalid.
 */
export function readTraceParent(env: NodeJS.ProcessEnv): TraceParent | undefined {
  const found = PATTERN.exec(env['TRACEPARENT']?.trim().toLowerCase() ?? '');
  if (found === null) return undefined;
  const [, format = '', traceId = '', spanId = '', flags = '', more] = found;
  if (format === 'ff' || (format === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  const state = env['TRACESTATE']?.trim() ?? '';
  return {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & 1,
    traceState: state === '' ? undefined : state,
  };
}
