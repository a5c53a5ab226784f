import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Room for young objects that is enough for a sync, both halves together, in bytes. */
const ENOUGH_BYTES = 16 * 2 ** 20;
const LOOK_EVERY_MS = 50;
const SECRET_NAME = /(^|_)(api_?key|hash_?key|token|secret|password|jwt)$/i;
// Shorter values are words that would be masked all over the output.
const LEAST_LENGTH = 8;

/**
 * Bounds the heap once much passes through it. By default the part for young objects grows to 128 MB on a large
 * machine, and the rest to four times what is in use before it is collected; a busy process never gives that back
 * (measured: 100 MB more in one of 25 syncs). A smaller growth than this takes up to a tenth more CPU: at 70 percent
 * the collector looks at everything twice as often, for 10 MB.
 */
export function boundHeap(): void {
  const timer = setInterval(() => {
    const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
    if (young !== undefined && young.space_size < ENOUGH_BYTES) return;
    setFlagsFromString('--semi-space-growth-factor=1');
    setFlagsFromString('--heap-growing-percent=120');
    clearInterval(timer);
  }, LOOK_EVERY_MS);
  timer.unref();
}

/** Hides the warning that node:sqlite is experimental; every other warning is shown. */
export function hideSqliteWarning(host: Pick<NodeJS.Process, 'emitWarning'>): void {
  const emit = host.emitWarning.bind(host) as (...details: unknown[]) => void;
  host.emitWarning = (warning: string | Error, ...details: unknown[]) => {
    const text = warning instanceof Error ? warning.message : warning;
    const type: unknown = warning instanceof Error ? warning.name : readType(details[0]);
    if (type === 'ExperimentalWarning' && text.includes('SQLite')) return;
    emit(warning, ...details);
  };
}

/**
 * Environment values that look like keys. No output shows them, not even a crash before the config is read.
 */
export function collectSecrets(env: NodeJS.ProcessEnv): readonly string[] {
  return Object.entries(env).flatMap(([name, value = '']) =>
    SECRET_NAME.test(name) && value.trim().length >= LEAST_LENGTH ? [value.trim()] : [],
  );
}

function readType(detail: unknown): unknown {
  return typeof detail === 'object' && detail !== null && 'type' in detail ? detail.type : detail;
}
