import { constants, readFileSync } from 'node:fs';
import { inflateSync } from 'node:zlib';
import { z } from 'zod';

/** Where Dagster reads messages: a file, or a stream of this process. */
export type PipesTarget = { readonly path: string } | { readonly stream: 'stdout' | 'stderr' };

/** What Dagster says about the step that runs this process. */
export interface PipesContext {
  /** As Dagster writes keys in one text: parts with `/` between them. Empty for a step without assets. */
  readonly assetKeys: readonly string[];
  /** Name of the check that takes verdicts; undefined where the step has none: Dagster refuses checks it does not know. */
  readonly check: string | undefined;
  /** Asset keys by stream, or by `account/stream`, where names alone do not match. */
  readonly assets: Readonly<Record<string, string>>;
}

/** The step of Dagster that runs this process, and what could not be read about it. */
export interface PipesPlace {
  readonly target: PipesTarget;
  readonly context: PipesContext;
  readonly warnings: readonly string[];
}

/** Opening a pipe that nobody writes to would wait for ever. */
const WITHOUT_WAITING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

const CONTEXT = 'DAGSTER_PIPES_CONTEXT';
const MESSAGES = 'DAGSTER_PIPES_MESSAGES';
const NOT_REPORTED = 'the run is not reported to Dagster';

const stdioSchema = z.enum(['stdout', 'stderr']);
const messagesSchema = z.union([
  z.object({ path: z.string().min(1) }),
  z.object({ stdio: stdioSchema }).transform(({ stdio }) => ({ stream: stdio })),
  z.object({ buffered_stdio: stdioSchema }).transform(({ buffered_stdio: stdio }) => ({ stream: stdio })),
]);
const placeSchema = z.union([z.object({ path: z.string().min(1) }), z.object({ data: z.unknown() })]);
const contextSchema = z.object({
  asset_keys: z.array(z.string()).nullish(),
  extras: z.record(z.string(), z.unknown()).nullish(),
});
const wishesSchema = z.object({
  check: z.string().min(1).optional(),
  assets: z.record(z.string(), z.string().min(1)).optional(),
});

/** Reads the variables that Dagster sets for a process; a text says why they cannot be used. */
export function readPipesPlace(env: Readonly<Record<string, string | undefined>>): PipesPlace | string {
  const target = readTarget(env[MESSAGES]);
  if (typeof target === 'string') return target;
  const context = contextSchema.safeParse(readContext(env[CONTEXT]));
  if (!context.success) return `${CONTEXT} cannot be read: ${NOT_REPORTED}`;
  const { asset_keys: assetKeys, extras } = context.data;
  const wishes = wishesSchema.safeParse(extras?.['sluice'] ?? {});
  return {
    target,
    context: { assetKeys: assetKeys ?? [], check: wishes.data?.check, assets: wishes.data?.assets ?? {} },
    warnings: wishes.success
      ? []
      : [
          'extras["sluice"] of the Dagster step cannot be read, and is ignored: write {"check": name, "assets": {stream: key}}',
        ],
  };
}

function readTarget(text: string | undefined): PipesTarget | string {
  if (text === undefined || text === '') return `${MESSAGES} is not set: ${NOT_REPORTED}`;
  const found = messagesSchema.safeParse(decode(text));
  return found.success ? found.data : `${MESSAGES} cannot be read: ${NOT_REPORTED}`;
}

function readContext(text: string | undefined): unknown {
  const place = placeSchema.safeParse(decode(text ?? ''));
  if (!place.success) return undefined;
  if (!('path' in place.data)) return place.data.data;
  try {
    return JSON.parse(readFileSync(place.data.path, { encoding: 'utf8', flag: WITHOUT_WAITING }));
  } catch {
    return undefined;
  }
}

/** A value as Dagster puts it into a variable: JSON, compressed, in base64. */
function decode(text: string): unknown {
  try {
    return JSON.parse(inflateSync(Buffer.from(text, 'base64')).toString('utf8'));
  } catch {
    return undefined;
  }
}
