import { appendFileSync, closeSync, constants, openSync } from 'node:fs';
import { buildMessages, type PipesMessage } from './build-messages.ts';
import { type PipesPlace, type PipesTarget, readPipesPlace } from './pipes-place.ts';
import type { EndedProcess } from './synced-account.ts';

/** Opening a pipe that nobody reads would wait for ever, and no signal would end that. */
const WITHOUT_WAITING =
  constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NONBLOCK ?? 0);

/** What a session may use of the outside world. */
export interface PipesEffects {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly write: (stream: 'stdout' | 'stderr', text: string) => void;
  /** Masks secrets. */
  readonly mask: (text: string) => string;
}

/** Messages to the step of Dagster that runs this process. Whatever goes wrong in it is a warning. */
export class PipesSession {
  readonly #place: PipesPlace | undefined;
  readonly #effects: PipesEffects;
  readonly #warnings: string[] = [];

  /** Says that this process knows it is run by Dagster. */
  constructor(effects: PipesEffects) {
    this.#effects = effects;
    const place = readPipesPlace(effects.env);
    if (typeof place === 'string') {
      this.#warnings.push(place);
      return;
    }
    this.#place = place;
    this.#warnings.push(...place.warnings);
    this.#send(place.target, [{ method: 'opened', params: { extras: {} } }]);
  }

  /** Reports how the process ended; returns what went wrong in the session, as warnings. Never throws. */
  end(ended: EndedProcess): readonly string[] {
    if (this.#place !== undefined)
      this.#send(this.#place.target, buildMessages(this.#place.context, maskDeep(ended, this.#effects.mask)));
    return this.#warnings;
  }

  #send(target: PipesTarget, messages: readonly PipesMessage[]): void {
    const lines = messages.map(
      (message) => `${JSON.stringify({ __dagster_pipes_version: '0.1', ...message })}\n`,
    );
    try {
      if ('path' in target) appendTo(target.path, lines.join(''));
      else this.#effects.write(target.stream, lines.join(''));
    } catch (thrown) {
      const cause = thrown instanceof Error ? thrown.message : String(thrown);
      const warning = `the run could not be reported to Dagster: ${cause}`;
      if (!this.#warnings.includes(warning)) this.#warnings.push(warning);
    }
  }
}

function appendTo(path: string, text: string): void {
  const file = openSync(path, WITHOUT_WAITING);
  try {
    appendFileSync(file, text);
  } finally {
    closeSync(file);
  }
}

/** Masks secrets in every text of a plain value. */
function maskDeep<T>(value: T, mask: (text: string) => string): T {
  if (typeof value === 'string') return mask(value) as T;
  if (Array.isArray(value)) return value.map((item: unknown) => maskDeep(item, mask)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(
    ([name, member]) => [name, maskDeep<unknown>(member, mask)] as const,
  );
  return Object.fromEntries(entries) as T;
}
