import { toSyncError } from '../model/errors.ts';
import type { McpSource } from './source.ts';
import type { Tool } from './tools.ts';
import { type Answer, answerError } from './write-answer.ts';

/** Answers one call; throws only for what the signal stopped. */
export type AnswerCall = (tool: Tool, input: unknown, signal: AbortSignal) => Promise<Answer>;

/** What calls are answered from. */
export interface CallScope {
  readonly source: McpSource;
  readonly mask: (text: string) => string;
}

/** Answers a call from the published files; a failure is an answer too. */
export function createAnswerCall({ source, mask }: CallScope): AnswerCall {
  return async (tool, input, signal) => {
    try {
      const answer = await tool.answer(source, input, signal);
      return tool.showsAsIs === true ? answer : maskAnswer(answer, mask);
    } catch (thrown) {
      return maskAnswer(answerError(toSyncError(thrown)), mask);
    }
  };
}

export function maskAnswer({ content, ...rest }: Answer, mask: (text: string) => string): Answer {
  return { ...rest, content: content.map(({ type, text }) => ({ type, text: mask(text) })) };
}
