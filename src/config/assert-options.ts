import { z } from 'zod';
import { type Clock, systemClock } from '../model/clock.ts';
import { ConfigError } from '../model/errors.ts';
import { isTooLong, longestMessage } from '../text/duration.ts';
import { findDateProblem } from '../text/past-date.ts';
import { RUN_ID, RUN_ID_PROBLEM } from '../text/run-id.ts';
import { suggestName } from '../text/suggest-name.ts';

/** The functions of the library that take options. */
export type OptionsTaker = 'sync' | 'plan' | 'check' | 'syncAccounts';

const flag = z.boolean('must be true or false');
const names = z
  .array(z.string('must be a list of names'), 'must be a list of names')
  .min(1, 'must name one at least; leave it out for all');
const COUNT = 'must be a whole number, 1 or more';
const count = z.int(COUNT).min(1, COUNT);
const TIME = 'must be a number of milliseconds';
const time = (least: number, message: string) =>
  z
    .number(message)
    .min(least, message)
    .refine((ms) => !isTooLong(ms), longestMessage);
const callback = z.custom((value) => typeof value === 'function', 'must be a function');
const hasMethods = (value: unknown, methods: readonly string[]) =>
  typeof value === 'object' &&
  value !== null &&
  methods.every((name) => typeof (value as Record<string, unknown>)[name] === 'function');

/** Of every function; those that the command line has as well follow the same rules there. */
const common = {
  account: z.string('must be the name of an account').optional(),
  streams: names.optional(),
  fullRefresh: flag.optional(),
  from: z.string('must be a calendar date YYYY-MM-DD').optional(),
  limit: count.optional(),
  force: flag.optional(),
  maxRequests: count.optional(),
  maxWaitMs: time(0, `${TIME}, 0 or more`).optional(),
  deadlineMs: time(Number.MIN_VALUE, `${TIME}, more than 0`).optional(),
  allowEmpty: flag.optional(),
  acceptNewKey: flag.optional(),
  strict: flag.optional(),
  runId: z.string('must be text').regex(RUN_ID, RUN_ID_PROBLEM).optional(),
  onProgress: callback.optional(),
  signal: z.instanceof(AbortSignal, { error: 'must be an AbortSignal' }).optional(),
  clock: z
    .custom(
      (value) => hasMethods(value, ['now', 'monotonic', 'sleep']),
      'must be a clock: now, monotonic and sleep',
    )
    .optional(),
  observers: z
    .array(
      z.custom((value) => typeof value === 'object' && value !== null, 'must be a list of observers'),
      'must be a list of observers',
    )
    .optional(),
  // These two are of runs that belong together.
  ofAccount: z.unknown().optional(),
  completed: z.unknown().optional(),
};

const { account: _, ...ofEach } = common;
const schemas: Readonly<Record<OptionsTaker, z.ZodType>> = {
  sync: z.strictObject(common),
  plan: z.strictObject({ ...common, offline: flag.optional() }),
  check: z.strictObject(common),
  syncAccounts: z.strictObject({
    ...ofEach,
    accounts: names.optional(),
    onAccount: callback.optional(),
    observers: z
      .custom((value) => typeof value === 'function', 'must be a function that makes observers')
      .optional(),
  }),
};

/**
 * Checks the options of a function of the library, as the command line checks its own, before anything is read or
 * requested. Options that are `undefined` count as left out.
 *
 * @throws ConfigError (2) that names all that is wrong
 */
export function assertOptions(taker: OptionsTaker, options: unknown): void {
  const parsed = schemas[taker].safeParse(options);
  const problems = parsed.success
    ? findConflicts(options as Given)
    : listProblems(taker, parsed.error.issues);
  if (problems.length === 0) return;
  throw new ConfigError(`${taker}: ${problems.join('; ')}`, {
    code: 'usage_invalid',
    hint: `Correct the options of ${taker}(); docs/library.md lists them. Nothing was requested.`,
  });
}

interface Given {
  readonly from?: string | undefined;
  readonly fullRefresh?: boolean | undefined;
  readonly clock?: Clock | undefined;
}

function findConflicts({ from, fullRefresh, clock = systemClock }: Given): readonly string[] {
  if (from === undefined) return [];
  if (fullRefresh === true) return ['fullRefresh and from cannot be combined'];
  const problem = findDateProblem(from, clock.now());
  return problem === undefined ? [] : [`from ${problem}`];
}

/** Values are not shown: one may be a secret in the wrong place. */
function listProblems(taker: OptionsTaker, issues: readonly z.core.$ZodIssue[]): readonly string[] {
  const known = Object.keys((schemas[taker] as z.ZodObject).shape);
  const problems = issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => `unknown option ${JSON.stringify(key)}${suggestName(key, known)}`);
    const [name] = issue.path;
    return [name === undefined ? 'its options must be an object' : `${String(name)} ${issue.message}`];
  });
  return [...new Set(problems)];
}
