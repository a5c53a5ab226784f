import fs from 'node:fs';
import fsPromises, { type FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { basename } from 'node:path';
import { listConnections } from './connection-classes.ts';

/** A statement or a call to the file system that a run makes, e.g. `sql COMMIT` or `rename published.json.tmp`. */
export interface Step {
  /** Counts from 1. */
  readonly n: number;
  readonly name: string;
}

/**
 * Called around each step, while nothing else of this thread runs; what `before` throws is what the call fails with. A
 * promise of it holds a call that is not synchronous.
 */
export interface StepHook {
  readonly before?: (step: Step) => Promise<void> | void;
  readonly after?: (step: Step) => void;
}

type AnyFunction = (...args: unknown[]) => unknown;
type Methods = Record<string, AnyFunction | undefined>;

// What reads a result calls `run` itself.
const SQL_METHODS = ['run', 'stream'];
const ASYNC_CALLS = [
  'open',
  'rename',
  'copyFile',
  'link',
  'rm',
  'mkdir',
  'writeFile',
  'readFile',
  'truncate',
  'chmod',
];
const HANDLE_CALLS = ['appendFile', 'writeFile', 'write', 'writev', 'datasync', 'sync', 'chmod', 'truncate'];
const SYNC_CALLS = ['openSync', 'renameSync', 'rmSync', 'mkdirSync', 'chmodSync', 'readFileSync'];
const DESCRIPTOR_CALLS = ['writeFileSync', 'fsyncSync'];

/**
 * Watches every SQL statement of this process, and every call of Node's that concerns a path for which `concerns`
 * holds, until the function it returns is called. Nothing of the product knows of it.
 */
export async function hookSteps(hook: StepHook, concerns: (path: string) => boolean): Promise<() => void> {
  const handlePrototype = await findHandlePrototype();
  const paths = new WeakMap<object, string>();
  const descriptors = new Map<number, string>();
  const undo: (() => void)[] = [];
  let count = 0;
  let isInHook = false;

  // What a hook does itself is not a step.
  function tell(
    listener: ((step: Step) => Promise<void> | void) | undefined,
    step: Step,
  ): Promise<void> | undefined {
    isInHook = true;
    try {
      return listener?.(step) ?? undefined;
    } finally {
      isInHook = false;
    }
  }

  function replace(
    target: object,
    name: string,
    nameStep: (self: object, args: unknown[]) => string | undefined,
    onResult?: (result: unknown, args: unknown[]) => void,
  ) {
    const methods = target as Methods;
    const original = methods[name];
    if (original === undefined) throw new Error(`there is no ${name}`);
    methods[name] = function (this: object, ...args: unknown[]) {
      const stepName = isInHook ? undefined : nameStep(this, args);
      if (stepName === undefined) return original.apply(this, args);
      const step = { n: (count += 1), name: stepName };
      const finish = (result: unknown) => {
        onResult?.(result, args);
        void tell(hook.after, step);
        return result;
      };
      const isAsync = !name.endsWith('Sync');
      let held: Promise<void> | undefined;
      try {
        held = tell(hook.before, step);
      } catch (error) {
        if (!isAsync) throw error;
        return Promise.reject(error instanceof Error ? error : new Error(String(error)));
      }
      if (isAsync && held !== undefined)
        return held.then(() => original.apply(this, args) as Promise<unknown>).then(finish);
      const result = original.apply(this, args);
      return isAsync ? (result as Promise<unknown>).then(finish) : finish(result);
    };
    undo.push(() => void (methods[name] = original));
  }

  const byPath =
    (call: string) =>
    (_: object, [path]: unknown[]) =>
      typeof path === 'string' && concerns(path) ? `${call} ${nameFile(path)}` : undefined;
  const byHandle = (call: string) => (self: object) => {
    const path = paths.get(self);
    return path === undefined ? undefined : `${call} ${nameFile(path)}`;
  };
  const byDescriptor =
    (call: string) =>
    (_: object, [target]: unknown[]) => {
      const path = typeof target === 'number' ? descriptors.get(target) : target;
      return typeof path === 'string' && concerns(path) ? `${call} ${nameFile(path)}` : undefined;
    };
  const remember = (result: unknown, [path]: unknown[]) => {
    if (typeof result === 'number') descriptors.set(result, String(path));
    else paths.set(result as object, String(path));
  };

  for (const connection of await listConnections())
    for (const name of SQL_METHODS)
      replace(connection, name, (_, [sql]) => `sql ${nameStatement(String(sql))}`);
  for (const name of ASYNC_CALLS)
    replace(fsPromises, name, byPath(name), name === 'open' ? remember : undefined);
  // Where a link points to is its first argument.
  replace(fsPromises, 'symlink', (self, [, path]) => byPath('symlink')(self, [path]));
  for (const name of HANDLE_CALLS) replace(handlePrototype, name, byHandle(name));
  for (const name of SYNC_CALLS) replace(fs, name, byPath(name), name === 'openSync' ? remember : undefined);
  for (const name of DESCRIPTOR_CALLS) replace(fs, name, byDescriptor(name));
  syncBuiltinESMExports();
  return () => {
    for (const one of undo) one();
    syncBuiltinESMExports();
  };
}

async function findHandlePrototype(): Promise<object> {
  const handle: FileHandle = await fsPromises.open(process.execPath, 'r');
  const prototype = Object.getPrototypeOf(handle) as object;
  await handle.close();
  return prototype;
}

/** The words of a statement up to its first name that is not ours to choose, e.g. `ALTER TABLE ADD COLUMN`. */
function nameStatement(sql: string): string {
  const text = sql.replaceAll(/\s+/g, ' ').trim();
  const altered = /^ALTER TABLE \S+ (.*)$/.exec(text)?.[1];
  if (altered !== undefined) return `ALTER TABLE ${(/^[A-Z ]+/.exec(altered)?.[0] ?? '').trim()}`;
  const words =
    /^[A-Z]+(?: (?:OR|REPLACE|TEMP|TABLE|SCHEMA|VIEW|INTO|FROM|EXISTS|IF|NOT|TRANSACTION))*(?: [\w."]+)?/.exec(
      text,
    );
  return (words?.[0] ?? text.slice(0, 30)).replaceAll('"', '');
}

// Some names have an id in them that differs from run to run.
function nameFile(path: string): string {
  return basename(path).replace(/^(\..+\.)[0-9a-f]{12}(\.tmp)$/, '$1$2');
}
