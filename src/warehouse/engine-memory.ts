import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';

/** What the engine may take at a time. The memory it really takes exceeds its limit by up to 100 MB. */
export interface EngineShare {
  readonly megabytes: number;
  readonly threads: number;
}

// Measured with records of fifteen fields: this much loads and merges millions of them. Each thread needs
// 32 MB to read lines, and room for the columns of the rows it writes.
const TWO_THREADS_MB = 128;
const ONE_THREAD_MB = 96;
// The engine's reader takes a million records a second on one thread, and while it does their pages are packed.
// With more memory it is no faster: rows that find no room are spilt, and merged from there.
const READING: EngineShare = { megabytes: 64, threads: 1 };
/** Beyond this the rows of a load do not stay in memory anyhow, and a second thread would take 60 MB more, bytes. */
const LARGE_LOAD_BYTES = 512 * 2 ** 20;
const MOST_MB = 2_048;

/**
 * How much the engine may take: little to begin with, twice as much each time a statement does not fit, and
 * at last one thread in place of two. What a table of many columns needs depends on its values.
 */
export class EngineMemory {
  readonly #mostMb: number;
  #current: EngineShare;

  /** Readers get all at once: their statements are anybody's. */
  constructor(isReader: boolean, machineMb: number = readMachineMb()) {
    this.#mostMb = Math.round(Math.max(TWO_THREADS_MB, Math.min(machineMb * 0.5 - 100, MOST_MB)));
    this.#current = { megabytes: isReader ? this.#mostMb : TWO_THREADS_MB, threads: 2 };
  }

  get current(): EngineShare {
    return this.#current;
  }

  /** Begins anew for lines that the engine reads by itself. */
  beginReading(): EngineShare {
    this.#current = READING;
    return this.#current;
  }

  /** Begins anew for a load of lines of this size, bytes. */
  begin(loadBytes: number): EngineShare {
    this.#current =
      loadBytes < LARGE_LOAD_BYTES
        ? { megabytes: TWO_THREADS_MB, threads: 2 }
        : { megabytes: ONE_THREAD_MB, threads: 1 };
    return this.#current;
  }

  /** One step up; undefined when there is no more. */
  grow(): EngineShare | undefined {
    const { megabytes, threads } = this.#current;
    if (megabytes < this.#mostMb)
      this.#current = { megabytes: Math.min(megabytes * 2, this.#mostMb), threads };
    else if (threads > 1) this.#current = { megabytes, threads: 1 };
    else return undefined;
    return this.#current;
  }
}

function readMachineMb(): number {
  return Math.min(totalmem(), readGroupLimit() ?? Infinity) / 2 ** 20;
}

/** Memory of the control group this process is in, bytes. */
function readGroupLimit(): number | undefined {
  for (const file of ['/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/memory/memory.limit_in_bytes']) {
    try {
      const bytes = Number(readFileSync(file, 'utf8').trim());
      if (Number.isFinite(bytes) && bytes > 0) return bytes;
    } catch {
      // No such control group: the machine's memory is the limit.
    }
  }
  return undefined;
}
