import type { ApiRequest } from '../model/http.ts';
import type { SentRequest } from '../model/sent-request.ts';
import { type AttemptOptions, type AttemptResult, attemptRequest, type AttemptTools } from './attempt.ts';

/** One try, and who is told how it went. */
interface WatchedAttempt extends Pick<AttemptOptions, 'signal'> {
  /** 1 for the first try. */
  readonly attempt: number;
  readonly onEnd: ((sent: SentRequest) => void) | undefined;
}

/** Sends a request once and says how that went; nothing is said of a try that got no slot of the quota. */
export async function watchAttempt(
  tools: AttemptTools,
  request: ApiRequest,
  { signal, attempt, onEnd }: WatchedAttempt,
): Promise<AttemptResult> {
  const isRetry = attempt > 1;
  if (onEnd === undefined) return attemptRequest(tools, request, { signal, isRetry });
  const { clock } = tools;
  const askedAtMs = clock.now();
  let startedAtMs: number | undefined;
  const tell = (outcome: SentRequest['outcome']) => {
    if (startedAtMs === undefined) return;
    const { stream, offset, url } = request;
    const address = { server: url.hostname, port: readPort(url), path: url.pathname };
    // The machine's clock may be set back meanwhile.
    const quotaWaitMs = Math.max(0, startedAtMs - askedAtMs);
    const endedAtMs = Math.max(startedAtMs, clock.now());
    onEnd({ stream, ...address, offset, attempt, quotaWaitMs, startedAtMs, endedAtMs, outcome });
  };
  try {
    const onSlot = () => void (startedAtMs = clock.now());
    const result = await attemptRequest(tools, request, { signal, isRetry, onSlot });
    tell(result.kind === 'answer' ? { status: result.response.status } : { fault: result.fault.kind });
    return result;
  } catch (thrown) {
    tell({ fault: 'other' });
    throw thrown;
  }
}

function readPort({ port, protocol }: URL): number {
  if (port !== '') return Number(port);
  return protocol === 'http:' ? 80 : 443;
}
