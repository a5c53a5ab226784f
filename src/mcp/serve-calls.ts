import { Worker } from 'node:worker_threads';
import type { AnswerCall } from './answer-call.ts';
import { tools } from './tools.ts';
import type { Answer } from './write-answer.ts';

/** A call, as it is given to the process that answers it. */
export interface CallQuestion {
  readonly tool: string;
  readonly input: unknown;
}

export interface CallAnswer {
  readonly answer: Answer;
  /** The process has grown too large to be used again. */
  readonly isLast: boolean;
}

/** The end of the process's connection with the server. */
export interface CallPort {
  onQuestion(listener: (question: CallQuestion) => void): unknown;
  send(answer: CallAnswer): unknown;
}

/** Answers the calls that the server passes on. They are never stopped: the server ends the process. */
export function serveCalls(port: CallPort, answerCall: AnswerCall, isLarge: () => boolean): void {
  const { signal } = new AbortController();
  port.onQuestion(({ tool: name, input }) => {
    const tool = tools.find((one) => one.name === name);
    if (tool === undefined) return;
    void answerCall(tool, input, signal).then((answer) => port.send({ answer, isLast: isLarge() }));
  });
}

const LOOK_EVERY_MS = 10;

/**
 * Ends this process once it takes more memory than this. In a thread of its own: the engine counts no text of results
 * against its limit, and the main thread is busy while it turns values into JavaScript's.
 */
export function endBeyond(mostBytes: number): void {
  const watch = `
    const { workerData: most } = require('node:worker_threads');
    setInterval(() => {
      if (process.memoryUsage.rss() > most) process.kill(process.pid, 'SIGKILL');
    }, ${LOOK_EVERY_MS});`;
  new Worker(watch, { eval: true, workerData: mostBytes }).unref();
}
