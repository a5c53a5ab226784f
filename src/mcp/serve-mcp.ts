import type { Readable, Writable } from 'node:stream';
import { toAbortError } from '../model/abort.ts';
import type { Clock } from '../model/clock.ts';
import { ConfigError, toSyncError } from '../model/errors.ts';
import { formatDuration } from '../text/duration.ts';
import { type AnswerCall, maskAnswer } from './answer-call.ts';
import { instructions } from './instructions.ts';
import { loadServerSdk } from './load-server.ts';
import { type Tool, tools } from './tools.ts';
import { answerError } from './write-answer.ts';

/** What the server works with. */
export interface McpServerOptions {
  readonly answer: AnswerCall;
  readonly version: string;
  /** Requests come in on one stream, and only answers go out on the other. */
  readonly input: Readable;
  readonly output: Writable;
  readonly clock: Clock;
  /** The longest time for one call, in milliseconds. */
  readonly callTimeoutMs: number;
  /** Ends the server. */
  readonly signal: AbortSignal;
  readonly mask: (text: string) => string;
  /** Called once it listens. */
  readonly onReady: () => void;
  readonly onError: (error: Error) => void;
}

/** Serves the tools until the input ends, the output is closed or the signal aborts. Throws if the SDK is not installed. */
export async function serveMcp(options: McpServerOptions): Promise<void> {
  const { McpServer, serveStdio, StdioServerTransport } = await loadServerSdk();
  const ended = new AbortController();
  const signal = AbortSignal.any([options.signal, ended.signal]);
  const call = createCaller({ ...options, signal });
  const transport = new StdioServerTransport(options.input, options.output);
  const handle = serveStdio(
    () => {
      const server = new McpServer({ name: 'sluice', version: options.version }, { instructions });
      for (const tool of tools) {
        server.registerTool(tool.name, toRegistration(tool), async (input, { mcpReq }) => ({
          ...(await call(tool, input, mcpReq.signal)),
        }));
      }
      return server;
    },
    { transport, onerror: options.onError },
  );
  options.onReady();
  await new Promise<void>((resolve) => {
    const { onclose } = transport;
    transport.onclose = () => {
      onclose?.();
      resolve();
    };
    if (options.signal.aborted) resolve();
    else options.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  ended.abort(options.signal.reason);
  await handle.close();
  await call.settle();
}

function toRegistration({ title, description, input }: Tool) {
  const annotations = { title, readOnlyHint: true, idempotentHint: true, openWorldHint: false };
  return { title, description, inputSchema: input, annotations };
}

/** Answers calls one after the other: each opens the engine, which takes threads and memory of its own. */
function createCaller(
  options: Pick<McpServerOptions, 'answer' | 'clock' | 'callTimeoutMs' | 'signal' | 'mask'>,
): AnswerCall & { readonly settle: () => Promise<void> } {
  let last: Promise<unknown> = Promise.resolve();
  const call: AnswerCall = (tool, input, asked) => {
    const answered = last.then(() => answerInTime(tool, input, asked));
    last = answered;
    return answered;
  };
  const answerInTime: AnswerCall = async (tool, input, asked) => {
    const limit = new AbortController();
    const done = new AbortController();
    const signal = AbortSignal.any([options.signal, asked, limit.signal]);
    void options.clock.sleep(options.callTimeoutMs, done.signal).then(
      () => limit.abort(toTimeout(options.callTimeoutMs)),
      () => undefined,
    );
    try {
      return await untilAborted(options.answer(tool, input, signal), signal);
    } catch (thrown) {
      const error = signal.aborted ? toAbortError(signal) : toSyncError(thrown);
      return maskAnswer(answerError(error), options.mask);
    } finally {
      done.abort();
    }
  };
  const settle = async () => void (await last);
  return Object.assign(call, { settle });
}

/** What is not stopped by the signal itself is left behind. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop: (() => void) | undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    if (stop !== undefined) signal.removeEventListener('abort', stop);
  }
}

function toTimeout(ms: number): ConfigError {
  return new ConfigError(`the call took longer than ${formatDuration(ms)}, so it was cancelled`, {
    code: 'query_failed',
    hint: 'Ask for less: filter by date, aggregate, or join fewer rows. The limit is --call-timeout of sluice mcp.',
  });
}
