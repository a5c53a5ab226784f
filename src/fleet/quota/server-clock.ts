/** One reading of the server's clock, between two of our own. */
export interface ClockReading {
  /** Our clock before we asked, ms. */
  readonly askedMs: number;
  /** The server's clock, epoch ms. */
  readonly serverMs: number;
  /** Our clock when the answer came, ms. */
  readonly answeredMs: number;
}

/**
 * What the server's clock shows, by a clock of this machine that nobody can set. It begins as the middle of the shortest
 * round trip, which errs by half of it at most; every later one proves between which bounds the truth lies, and moves the
 * estimate no further than into them. So neither a slow answer nor a wait for a lock moves it, and a clock that drifts or
 * jumps is followed. Two machines err less than the margin of the burst rule (20 ms) together where half of their round trips
 * together is less.
 */
export class ServerClock {
  #aheadMs: number;

  /** @param readings at least one */
  constructor(readings: readonly ClockReading[]) {
    const [shortest] = readings.toSorted((a, b) => readLength(a) - readLength(b));
    if (shortest === undefined) throw new RangeError('a clock without a reading');
    const { earliest, latest } = readBounds(shortest);
    this.#aheadMs = (earliest + latest) / 2;
  }

  learn(reading: ClockReading): void {
    const { earliest, latest } = readBounds(reading);
    this.#aheadMs = Math.min(Math.max(this.#aheadMs, earliest), latest);
  }

  /** The server's clock when ours shows `atMs`, epoch ms. */
  read(atMs: number): number {
    return atMs + this.#aheadMs;
  }
}

/** How far the server's clock may be ahead of ours, ms. */
function readBounds({ askedMs, serverMs, answeredMs }: ClockReading): {
  readonly earliest: number;
  readonly latest: number;
} {
  return { earliest: serverMs - answeredMs, latest: serverMs - askedMs };
}

function readLength({ askedMs, answeredMs }: ClockReading): number {
  return answeredMs - askedMs;
}
