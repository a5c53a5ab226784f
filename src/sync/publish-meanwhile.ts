import type { Clock } from '../model/clock.ts';
import { toSyncError } from '../model/errors.ts';
import type { ProgressEvent } from '../model/progress.ts';
import type { RunObserver } from '../model/run-observer.ts';
import type { Meanwhile, StepsAside } from '../run/run-context.ts';

/** Waits shorter than this are over before a large file is copied, ms. */
const WORTH_MS = 60_000;

/**
 * Publishes what a run has committed while it waits for the quota, so that readers need not wait for the last stream.
 * Only while pages are fetched: then only early work uses the work file.
 */
export class PublishMeanwhile implements Meanwhile, RunObserver {
  readonly name = 'publishing';
  readonly #clock: Clock;
  readonly #publish: () => Promise<void>;
  #scan: StepsAside | undefined;
  #isDue = false;
  #work: Promise<void> | undefined;
  #failure: unknown;

  constructor(clock: Clock, publish: () => Promise<void>) {
    this.#clock = clock;
    this.#publish = publish;
  }

  /** Fetches a scan's pages; returns once no publish is running in parallel. */
  async during<T>(scan: StepsAside, readPages: () => Promise<T>): Promise<T> {
    this.#scan = scan;
    try {
      return await readPages();
    } finally {
      this.#scan = undefined;
      await this.#work;
      this.#work = undefined;
      this.#assertOpen();
    }
  }

  /** Notes events that make publishing due, or leave time for it. */
  onEvent(event: ProgressEvent): void {
    if (event.type === 'stream-finished') this.#isDue = true;
    if (event.type !== 'waiting' || !this.#isDue || this.#scan === undefined || this.#work !== undefined)
      return;
    const isQuota = event.reason === 'hourly-quota' || event.reason === 'rate-limited';
    if (!isQuota || event.untilMs - this.#clock.now() < WORTH_MS) return;
    this.#isDue = false;
    this.#work = this.#scan.aside(this.#publish).then(
      () => void (this.#work = undefined),
      (thrown: unknown) => void (this.#failure = thrown),
    );
  }

  #assertOpen(): void {
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw toSyncError(failure);
  }
}
