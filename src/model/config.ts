import { z } from 'zod';
import { describeWrongType, isForcedType } from './column-type.ts';
import { destinationSchema, filePath } from './destination.ts';
import { duration, makeDuration } from './duration.ts';
import { fleetSchema } from './fleet.ts';
import { parsePartitionRule, PARTITION_TEXT } from './lake.ts';
import { decimalsModes } from './schema.ts';

// `lookback` below a day would miss rows restated on the watermark's own day.
const lookback = makeDuration('must be a duration of at least 1d, such as 3d').refine(
  (ms) => ms >= 86_400_000,
  'must be at least 1d',
);

const param = z.union([z.string(), z.number(), z.boolean()]);
const params = z.record(
  z.string().min(1, 'a parameter needs a name'),
  z.union([param, z.array(param).min(1)], 'must be text, a number, true, false or a non-empty list of these'),
);
const fieldName = z.string().min(1);

const contractMode = z.enum(['evolve', 'freeze', 'discard_row', 'discard_value']);
const contract = z.union(
  [contractMode, z.strictObject({ columns: contractMode.optional(), types: contractMode.optional() })],
  'must be evolve, freeze, discard_row, discard_value, or a map of columns and types with one of these',
);
const deletes = z.enum(['keep', 'soft', 'hard']);
const ratio = z.number().min(0).max(1);

const forcedType = z
  .string()
  .transform((text) => text.toUpperCase().replaceAll(' ', ''))
  .refine(isForcedType, { error: ({ input }) => describeWrongType(String(input)) });

const columnRule = z
  .strictObject({
    type: forcedType.optional(),
    exclude: z.literal(true, 'must be true, or left out').optional(),
    hash: z.literal(true, 'must be true, or left out').optional(),
  })
  .refine(
    (rule) => Object.values(rule).filter((value) => value !== undefined).length === 1,
    'must have one of type, exclude and hash',
  );

const date = z.iso.date('must be a date such as 2027-06-30');
// A NUL byte would fail the run with an error of Node that names no setting.
const commandWord = z.string().refine((text) => !text.includes('\0'), 'must not contain a NUL character');
const notifyTarget = z.union(
  [
    // Empty text sets nothing, so that a placeholder may stand for a webhook that is not set.
    commandWord,
    z.array(commandWord).refine((words) => (words[0] ?? '').trim() !== '', 'must begin with a program'),
  ],
  'must be a webhook (https://…), a program, or a program with its arguments as a list',
);

/** Message for an invalid partition rule. */
export const partitionMessage = 'must be a column, or one in year(…), month(…) or day(…), e.g. month(date)';
const partitionRule = z
  .string()
  .regex(PARTITION_TEXT, partitionMessage)
  .transform((text) => parsePartitionRule(text) ?? z.NEVER);

const streamName = z
  .string()
  .regex(
    /^[a-z_][a-z0-9_]{0,62}$/,
    'must be lower-case letters, digits and underscores, at most 63 and no digit first, e.g. my_endpoint',
  );

const endpointPath = z
  .string()
  .regex(/^\/?[\w.~-]+(\/[\w.~-]+)*$/, 'must be a plain path below the base URL, e.g. prompts/analytics')
  .refine(
    (path) => !path.split('/').some((part) => part === '.' || part === '..'),
    'must not contain . or .. segments',
  )
  .transform((path) => path.replace(/^\//, ''));

export const streamConfigSchema = z.strictObject({
  enabled: z.boolean().optional(),
  path: endpointPath.optional(),
  paginated: z.boolean().optional(),
  records: z
    .string()
    .regex(
      /^(\/([^~]|~[01])*)?$/,
      'must be a JSON pointer such as /data (in a name, ~ is written ~0 and / is written ~1)',
    )
    .optional(),
  params: params.optional(),
  sliceBy: z
    .array(z.string().min(1))
    .min(1)
    .refine((names) => new Set(names).size === names.length, 'must not name a parameter twice')
    .optional(),
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
  contract: contract.optional(),
  columns: z.record(fieldName, columnRule).optional(),
  deletes: deletes.optional(),
  maxDeleteRatio: ratio.optional(),
  maxInvalidRatio: ratio.optional(),
  history: z.boolean().optional(),
  decimals: z.enum(decimalsModes).optional(),
  skipUnchanged: z.boolean().optional(),
  audit: z.boolean().optional(),
  partitionBy: z.array(partitionRule).optional(),
  // The connector sets the maximum.
  pageSize: z.int().min(2).optional(),
});

/** What a config says of one account, or of all where there is only one. */
const sharedSchema = z.strictObject({
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
  destination: destinationSchema,
  engine: z
    .strictObject({
      /** The folder with the engine's extensions. */
      extensionDirectory: filePath.optional(),
    })
    .optional(),
  stateDir: filePath.optional(),
  defaults: z
    .strictObject({
      lookback: lookback.optional(),
      contract: contract.optional(),
      deletes: deletes.optional(),
      history: z.boolean().optional(),
      decimals: z.enum(decimalsModes).optional(),
      skipUnchanged: z.boolean().optional(),
      freshness: duration.optional(),
      fullRefreshEvery: duration.optional(),
      maxInvalidRatio: ratio.optional(),
      maxDeleteRatio: ratio.optional(),
      /** Key of the hashes that stand for personal data; a secret. */
      hashKey: z
        .string()
        .min(16, 'must be at least 16 characters')
        .regex(/^(?!\$\{?\w+\}?$)/, 'is the name of a variable, not its value; in braces it is a placeholder')
        .optional(),
    })
    .optional(),
  /** Whether each sync counts the API's rows against the table's. */
  audit: z.boolean().optional(),
  retention: z
    .strictObject({
      archive: duration.optional(),
      history: duration.optional(),
      lake: duration.optional(),
      quarantine: duration.optional(),
      runs: duration.optional(),
    })
    .optional(),
  notify: z
    .strictObject({
      onFailure: notifyTarget.optional(),
      onSuccess: notifyTarget.optional(),
      onDrift: notifyTarget.optional(),
      onSchemaChange: notifyTarget.optional(),
      onKeyExpiry: notifyTarget.optional(),
    })
    .optional(),
  streams: z.record(streamName, streamConfigSchema).optional(),
});

export const configSchema = sharedSchema.extend({
  /** What each account says for itself; or `${file:…}`, the file that holds this map. */
  accounts: z.custom<Readonly<Record<string, AccountInput | null>> | string>().optional(),
  /** How many accounts are at work at once. */
  concurrency: z.int().min(1).max(64).optional(),
  /** How several machines share the accounts. */
  fleet: fleetSchema.optional(),
});

/** What an account may say for itself: any part of the config, laid over what all accounts share. */
export type AccountInput = DeepPartial<z.input<typeof sharedSchema>>;

type DeepPartial<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [Key in keyof T]?: DeepPartial<T[Key]> }
    : T;

/** The config file's shape as users write it. */
export type ConfigInput = DeepReadonly<z.input<typeof configSchema>>;

type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;

/** The config after validation: durations are milliseconds, paths still as written. */
export type Config = z.output<typeof configSchema>;
export type StreamConfig = z.output<typeof streamConfigSchema>;

/** Defaults, with times in milliseconds. */
export const configDefaults = {
  stateDir: './.sluice',
  concurrency: 4,
  lookbackMs: 3 * 86_400_000,
  freshnessMs: 3_600_000,
  fullRefreshEveryMs: 30 * 86_400_000,
  maxInvalidRatio: 0.05,
  maxDeleteRatio: 0.2,
  maxWaitMs: 24 * 3_600_000,
  retentionArchiveMs: 30 * 86_400_000,
  retentionLakeMs: 3_600_000,
  retentionQuarantineMs: 90 * 86_400_000,
  retentionRunsMs: 365 * 86_400_000,
} as const;
