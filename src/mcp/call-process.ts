import { type ChildProcess, fork } from 'node:child_process';
import { assertNotAborted, toAbortError } from '../model/abort.ts';
import { BugError, StorageError, type SyncError } from '../model/errors.ts';
import { formatBytes } from '../text/format-bytes.ts';
import type { CallAnswer, CallQuestion } from './serve-calls.ts';
import type { Tool } from './tools.ts';
import type { Answer } from './write-answer.ts';

/** How the process that answers calls is started. */
export interface CallProgram {
  /** Absolute path of the program. */
  readonly file: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** It ends itself when it takes more memory than this. */
  readonly mostBytes: number;
}

/**
 * Answers calls in a process of its own, one at a time. A statement can take any amount of memory for a single value, and
 * cannot be interrupted meanwhile: so its process is ended, and the next call gets a new one.
 */
export class CallProcess {
  readonly #program: CallProgram;
  #child: ChildProcess | undefined;

  constructor(program: CallProgram) {
    this.#program = program;
  }

  /**
   * Answers one call.
   *
   * @throws StorageError where the call took too much memory; the signal's own error
   */
  async answer(tool: Pick<Tool, 'name'>, input: unknown, signal: AbortSignal): Promise<Answer> {
    assertNotAborted(signal);
    const child = this.#child ?? this.#start();
    const { promise, resolve, reject } = Promise.withResolvers<CallAnswer>();
    const onExit = (code: number | null, by: NodeJS.Signals | null) => reject(this.#explainEnd(code, by));
    const onAbort = () => reject(toAbortError(signal));
    child.once('message', resolve).once('error', reject).once('exit', onExit);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      const question: CallQuestion = { tool: tool.name, input };
      // Where it ended just before, its end is told.
      child.send(question, () => undefined);
      const { answer, isLast } = await promise;
      if (isLast) this.#end();
      return answer;
    } catch (thrown) {
      this.#end();
      throw thrown;
    } finally {
      child.off('message', resolve).off('error', reject).off('exit', onExit);
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Ends the process, with what it is doing. */
  close(): void {
    this.#end();
  }

  #start(): ChildProcess {
    const { file, args, env } = this.#program;
    // Its stdout is not that of the server, which belongs to the protocol.
    const child = fork(file, [...args], { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    child.once('exit', () => {
      if (this.#child === child) this.#child = undefined;
    });
    child.on('error', () => undefined);
    this.#child = child;
    return child;
  }

  #end(): void {
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
  }

  #explainEnd(code: number | null, by: NodeJS.Signals | null): SyncError {
    // Killed by itself or by the machine, or out of heap.
    if (by === 'SIGKILL' || by === 'SIGABRT' || code === 134)
      return new StorageError(
        `the call took more memory than ${formatBytes(this.#program.mostBytes)}, so it was ended`,
        {
          code: 'storage_failed',
          hint: 'Ask for smaller values: cut texts with substr(), aggregate, or select fewer rows. Nothing was changed; the next call is answered.',
        },
      );
    return new BugError(`the process that answers calls ended with ${by ?? `exit code ${code}`}`, {
      code: 'bug',
      hint: 'Its stderr says why. The next call is answered by a new one.',
    });
  }
}
