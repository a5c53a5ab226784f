import { z } from 'zod';
import { parseDuration } from './duration.ts';

// What the surface names and this version cannot do yet is refused by name: silence would be a lie.
function notYet(name: string) {
  return z
    .unknown()
    .optional()
    .refine((value) => value === undefined, `${name} is not available in this version yet; remove the line`);
}

function onlyYet<const T extends string>(name: string, available: T, ...later: readonly string[]) {
  const message = `only "${available}" is available for ${name} in this version`;
  return z
    .enum([available, ...later] as [T, ...string[]], message)
    .refine((value): value is T => value === available, message);
}

const durationMessage = 'must be a duration such as 30m, 1h or 3d';
const duration = z.union([z.string(), z.literal(0)], durationMessage).transform((value, context) => {
  const ms = parseDuration(String(value));
  if (ms !== undefined) return ms;
  context.addIssue({ code: 'custom', message: durationMessage });
  return z.NEVER;
});

// `lookback` below a day would miss rows restated on the watermark's own day.
const lookback = duration.refine((ms) => ms >= 86_400_000, 'must be at least 1d');

const param = z.union([z.string(), z.number(), z.boolean()]);
const params = z.record(
  z.string().min(1, 'a parameter needs a name'),
  z.union(
    [param, z.array(param).min(1)],
    'must be text, a number, true, false or a list of these that is not empty',
  ),
);
const fieldName = z.string().min(1);
const date = z.iso.date('must be a date such as 2027-06-30');
const filePath = z
  .string()
  .regex(/\S/, 'must name a file or folder')
  // A NUL byte would end the run with an error of Node's that names no setting.
  .refine((text) => !text.includes('\0'), 'must not hold a NUL character');

const streamName = z
  .string()
  .regex(/^[a-z_][a-z0-9_]{0,62}$/, 'must be lower-case letters, digits and underscores, e.g. my_endpoint');

const endpointPath = z
  .string()
  .regex(/^\/?[\w.~-]+(\/[\w.~-]+)*$/, 'must be a plain path below the base URL, e.g. prompts/analytics')
  .refine(
    (path) => !path.split('/').some((part) => part === '.' || part === '..'),
    'must not hold . or .. segments',
  )
  .transform((path) => path.replace(/^\//, ''));

export const streamConfigSchema = z.strictObject({
  enabled: z.boolean().optional(),
  path: endpointPath.optional(),
  paginated: z.boolean().optional(),
  records: z
    .string()
    .regex(/^(\/.*)?$/, 'must be a JSON pointer such as /data')
    .optional(),
  params: params.optional(),
  sliceBy: notYet('sliceBy'),
  key: z
    .union(
      [
        z.literal('auto'),
        z
          .array(fieldName)
          .min(1)
          .refine((names) => new Set(names).size === names.length, 'must not name a field twice'),
      ],
      'must be auto or a list of field names',
    )
    .optional(),
  cursor: z
    .union(
      [
        z.literal('auto'),
        z.literal(false),
        z.strictObject({
          field: fieldName,
          param: z.string().min(1).optional(),
          lookback: lookback.optional(),
        }),
      ],
      'must be auto, false or a map with a field',
    )
    .optional(),
  write: z.enum(['merge', 'replace', 'append']).optional(),
  contract: onlyYet('contract', 'evolve', 'freeze', 'discard_row', 'discard_value').optional(),
  columns: notYet('columns'),
  deletes: onlyYet('deletes', 'keep', 'soft', 'hard').optional(),
  history: notYet('history'),
  partitionBy: notYet('partitionBy'),
  pageSize: z.int().min(2).max(100).optional(),
});

export const configSchema = z.strictObject({
  source: z.strictObject({
    connector: z.string(),
    baseUrl: z.string().min(1),
    apiKey: z.string().optional(),
    bearerToken: z.string().optional(),
    /** How a filter with several values is sent: `a=1,2` or `a=1&a=2`. */
    arrayParams: z.enum(['comma', 'repeat']).optional(),
    quota: z
      .strictObject({
        requestsPerHour: z.int().min(1).optional(),
        burstPerSecond: z.int().min(1).optional(),
        reserve: z.int().min(0).optional(),
        ledgerDir: filePath.optional(),
      })
      .optional(),
    keyExpiresAt: date.optional(),
  }),
  destination: z.strictObject({ duckdb: filePath, parquet: notYet('destination.parquet') }),
  stateDir: filePath.optional(),
  defaults: z
    .strictObject({
      lookback: lookback.optional(),
      contract: onlyYet('contract', 'evolve', 'freeze', 'discard_row', 'discard_value').optional(),
      deletes: onlyYet('deletes', 'keep', 'soft', 'hard').optional(),
      history: z.literal(false, 'history is not available in this version yet; remove the line').optional(),
      freshness: duration.optional(),
      fullRefreshEvery: duration.optional(),
      maxInvalidRatio: z.number().min(0).max(1).optional(),
    })
    .optional(),
  retention: z
    .strictObject({
      archive: notYet('retention.archive'),
      quarantine: duration.optional(),
      runs: duration.optional(),
    })
    .optional(),
  notify: notYet('notify'),
  streams: z.record(streamName, streamConfigSchema).optional(),
});

/** The config file's shape as users write it. */
export type ConfigInput = z.input<typeof configSchema>;
/** The config after validation: durations are milliseconds, paths still as written. */
export type Config = z.output<typeof configSchema>;
export type StreamConfig = z.output<typeof streamConfigSchema>;

/** Defaults of part 3 of the surface, in milliseconds where they are times. */
export const configDefaults = {
  stateDir: './.sluice',
  lookbackMs: 3 * 86_400_000,
  freshnessMs: 3_600_000,
  fullRefreshEveryMs: 30 * 86_400_000,
  maxInvalidRatio: 0.05,
  maxWaitMs: 24 * 3_600_000,
  retentionQuarantineMs: 90 * 86_400_000,
  retentionRunsMs: 365 * 86_400_000,
} as const;
