import { Agent, type Dispatcher, EnvHttpProxyAgent, request } from 'undici';
import type { WebhookTarget } from '../model/notify.ts';

/** One POST of a JSON text; returns the status of the answer and ignores its body. */
export type PostJson = (url: URL, body: string, signal: AbortSignal) => Promise<number>;

/** Sends it over the network, through the proxy of the environment if there is one; follows no redirect. */
export async function postJson(url: URL, body: string, signal: AbortSignal): Promise<number> {
  const dispatcher = createDispatcher(url);
  try {
    const headers = { 'content-type': 'application/json; charset=utf-8', 'user-agent': 'sluice' };
    const response = await request(url, { method: 'POST', headers, body, dispatcher, signal });
    response.body.on('error', () => undefined).destroy();
    return response.statusCode;
  } finally {
    await dispatcher.destroy();
  }
}

function createDispatcher(url: URL): Dispatcher {
  if (url.protocol === 'http:') return new Agent();
  const tls = { rejectUnauthorized: true };
  return new EnvHttpProxyAgent({ connect: tls, requestTls: tls, proxyTls: tls });
}

/** What posting may use of the outside world. */
export interface PostEffects {
  readonly post: PostJson;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal | undefined;
}

const DEADLINE_MS = 10_000;
const RETRY_AFTER_MS = 1_000;

/** Posts to a webhook, at most twice and 10 s each; returns what went wrong, or undefined. Never throws. */
export async function postWebhook(
  { url }: WebhookTarget,
  body: string,
  effects: PostEffects,
): Promise<string | undefined> {
  const first = await postOnce(url, body, effects);
  if (first.flaw === undefined || !first.mayRetry || effects.signal?.aborted === true) return first.flaw;
  const signal = effects.signal ?? new AbortController().signal;
  await effects.sleep(RETRY_AFTER_MS, signal).catch(() => undefined);
  if (signal.aborted) return first.flaw;
  return (await postOnce(url, body, effects)).flaw;
}

interface Posted {
  readonly flaw: string | undefined;
  readonly mayRetry: boolean;
}

async function postOnce(url: URL, body: string, { post, sleep, signal }: PostEffects): Promise<Posted> {
  const deadline = new AbortController();
  const done = new AbortController();
  const stop = signal === undefined ? deadline.signal : AbortSignal.any([deadline.signal, signal]);
  const timer = sleep(DEADLINE_MS, done.signal).then(
    () => deadline.abort(),
    () => undefined,
  );
  try {
    return judgeStatus(await post(url, body, stop));
  } catch (thrown) {
    if (deadline.signal.aborted) return { flaw: 'it did not answer within 10 s', mayRetry: true };
    if (signal?.aborted === true) return { flaw: 'the command was stopped', mayRetry: false };
    return { flaw: `it could not be reached (${nameFault(thrown)})`, mayRetry: true };
  } finally {
    done.abort();
    await timer;
  }
}

function judgeStatus(status: number): Posted {
  if (status >= 200 && status < 300) return { flaw: undefined, mayRetry: false };
  const redirect = status >= 300 && status < 400 ? ', a redirect, which is not followed' : '';
  return { flaw: `it answered ${status}${redirect}`, mayRetry: status >= 500 || status === 429 };
}

// Messages may quote the address, and anyone who knows its path can post there.
function nameFault(thrown: unknown): string {
  const code = (thrown as { code?: unknown } | undefined)?.code;
  if (typeof code === 'string') return code;
  return thrown instanceof Error ? thrown.name : 'unknown error';
}
