import type { Prompt } from '../frame/context.ts';
import { usageError } from '../options/usage-error.ts';

/** Asks on a terminal. */
export function createPrompt(input: NodeJS.ReadableStream, output: NodeJS.WritableStream): Prompt {
  return async (question, fallback) => {
    const { createInterface } = await import('node:readline/promises');
    // Without raw mode, the terminal does the line editing and Ctrl-C remains a signal.
    const lines = createInterface({ input, output, terminal: false });
    const closed = new Promise<never>((_resolve, reject) => {
      // At the end of the input, readline would leave the question open for ever.
      lines.once('close', () => {
        reject(usageError(`no answer to: ${question}`, 'Answer it, or give --yes.'));
      });
    });
    // Only awaited below if it comes first.
    closed.catch(() => undefined);
    try {
      const answer = await Promise.race([lines.question(`${question} [${fallback}]: `), closed]);
      return answer.trim() === '' ? fallback : answer.trim();
    } finally {
      lines.close();
    }
  };
}
