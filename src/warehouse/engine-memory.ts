import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';

/** The engine's current limits. It may exceed the memory limit by up to 100 MB. */
export interface EngineShare {
  readonly megabytes: number;
  readonly threads: number;
}

// Measured with records of fifteen fields: enough to load and merge millions of them. Each thread needs 32 MB to read
// lines, and space for the columns it writes.
const TWO_THREADS_MB = 128;
const ONE_THREAD_MB = 96;
// On one thread the engine reads a million records per second, while their pages are packed in parallel. More memory
// is not faster: rows that do not fit are spilled and merged from disk.
const READING: EngineShare = { megabytes: 64, threads: 1 };
/** Beyond this size a load does not fit into memory anyway, and a second thread would take 60 MB more, bytes. */
const LARGE_LOAD_BYTES = 512 * 2 ** 20;
const MOST_MB = 2_048;
/**
 * What a table takes to be written, as blocks of all its columns are pinned at once (measured: 1.1 MB a column where it
 * has a history). Too little then cannot be made up for: the engine closes a file that it could not write to its end.
 */
const COLUMN_MB = 1.5;
const BESIDES_COLUMNS_MB = 64;
/** Reading and packing this much leaves little behind, bytes; in many engines that is much together. */
const SMALL_LOAD_BYTES = 4 * 2 ** 20;
const FEW_ENGINES = 4;
/**
 * Up to this size of a file, bytes, a second thread costs more than it saves: while it works, the first one waits busily
 * (measured: an eighth of a small sync's CPU).
 */
const SMALL_FILE_BYTES = 32 * 2 ** 20;

/** Engines of this process that are open: those that may write, and those that only read. */
const openWriters = new Set<EngineMemory>();
const openReaders = new Set<EngineMemory>();

/**
 * The engine's memory limit: small at first, doubled each time a statement does not fit, and finally one thread
 * instead of two. The needs of a wide table depend on its values.
 */
export class EngineMemory {
  readonly #alike: Set<EngineMemory>;
  readonly #mostMb: number;
  #current: EngineShare;
  /** Not to fall below, in MB. */
  #leastMb = 0;
  #loadBytes = Infinity;
  /** Whether neither the file nor a load was large so far. */
  #isSmall = false;
  /** The engine's last settings. */
  #threads: number | undefined;

  /** Readers get all memory at once, as their statements are not known in advance. */
  constructor(isReader: boolean, machineMb: number = readMachineMb()) {
    this.#alike = isReader ? openReaders : openWriters;
    this.#mostMb = Math.round(Math.max(TWO_THREADS_MB, Math.min(machineMb * 0.5 - 100, MOST_MB)));
    this.#current = { megabytes: isReader ? this.#mostMb : TWO_THREADS_MB, threads: 2 };
  }

  /**
   * One thread for little work, and while several engines write, or several read: together they keep the cores busy, and
   * a thread that waits for another one is never idle (measured with many small accounts: a quarter of all CPU).
   */
  get current(): EngineShare {
    const megabytes = Math.max(this.#current.megabytes, this.#leastMb);
    return { megabytes, threads: this.#isSmall || this.#alike.size > 1 ? 1 : this.#current.threads };
  }

  /** Raises the limits for tables of up to so many columns; undefined if they are high enough. */
  fit(columns: number): EngineShare | undefined {
    const neededMb = Math.min(Math.ceil(columns * COLUMN_MB) + BESIDES_COLUMNS_MB, this.#mostMb);
    if (neededMb <= this.#leastMb) return undefined;
    const { megabytes } = this.current;
    this.#leastMb = neededMb;
    return neededMb > megabytes ? this.current : undefined;
  }

  /** Whether the last load left so little memory unused that returning it is not worth a statement. */
  get hasLittleToReturn(): boolean {
    return this.#loadBytes < SMALL_LOAD_BYTES && this.#alike.size <= FEW_ENGINES;
  }

  /**
   * Counts the engine as open; call it before the engine is created.
   *
   * @param fileBytes how large the file is that it works on; not given where that does not tell how much it will do
   */
  opened(fileBytes = Infinity): void {
    this.#isSmall = fileBytes < SMALL_FILE_BYTES;
    this.#threads = undefined;
    this.#alike.add(this);
  }

  /** The engine is closed, or could not be created. */
  closed(): void {
    this.#alike.delete(this);
  }

  /** What to `SET` for these limits. Setting the memory limit also returns unused memory: it is set each time. */
  toSettings({ megabytes, threads }: EngineShare): readonly string[] {
    const memory = `memory_limit = '${megabytes}MB'`;
    if (threads === this.#threads) return [memory];
    this.#threads = threads;
    return [memory, `threads = ${threads}`];
  }

  /** Resets the limits for lines that the engine reads directly. */
  beginReading(): EngineShare {
    this.#current = READING;
    this.#loadBytes = Infinity;
    return this.current;
  }

  /** Resets the limits for a load of lines of this total size, bytes. */
  begin(loadBytes: number): EngineShare {
    this.#loadBytes = loadBytes;
    if (loadBytes >= SMALL_LOAD_BYTES) this.#isSmall = false;
    this.#current =
      loadBytes < LARGE_LOAD_BYTES
        ? { megabytes: TWO_THREADS_MB, threads: 2 }
        : { megabytes: ONE_THREAD_MB, threads: 1 };
    return this.current;
  }

  /** Raises the limits by one step; undefined at the maximum. */
  grow(): EngineShare | undefined {
    const { megabytes, threads } = this.current;
    if (megabytes < this.#mostMb)
      this.#current = { ...this.#current, megabytes: Math.min(megabytes * 2, this.#mostMb) };
    else if (threads > 1) this.#current = { megabytes, threads: 1 };
    else return undefined;
    return this.current;
  }
}

/** The memory that this process may have, or its machine has, in MB. */
export function readMachineMb(): number {
  return Math.min(totalmem(), readGroupLimit() ?? Infinity) / 2 ** 20;
}

/** Memory limit of this process's control group, bytes. */
function readGroupLimit(): number | undefined {
  for (const file of ['/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/memory/memory.limit_in_bytes']) {
    try {
      const bytes = Number(readFileSync(file, 'utf8').trim());
      if (Number.isFinite(bytes) && bytes > 0) return bytes;
    } catch {
      // Without a control group the machine's memory is the limit.
    }
  }
  return undefined;
}
