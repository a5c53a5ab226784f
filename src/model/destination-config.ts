import { z } from 'zod';

/** A path in a config, as written. */
export const filePath = z
  .string()
  .regex(/\S/, 'must name a file or folder')
  // A NUL byte would fail the run with an error of Node that names no setting.
  .refine((text) => !text.includes('\0'), 'must not contain a NUL character');

/** Where a config publishes. */
export const destinationSchema = z
  .strictObject({
    duckdb: filePath.optional(),
    parquet: filePath.optional(),
    ducklake: z
      .strictObject({
        /** `sqlite:` and a file, or `postgres://…`. */
        catalog: z.string().min(1),
        /** A folder, or `s3://bucket/prefix`. */
        data: z.string().min(1),
        schema: z
          .string()
          .regex(/^[a-z_][a-z0-9_]{0,54}$/, 'must be lower-case letters, digits and _, at most 55')
          .optional(),
      })
      .optional(),
    /** How buckets are reached. */
    s3: z
      .strictObject({
        endpoint: z.string().min(1).optional(),
        region: z.string().min(1).optional(),
        urlStyle: z.enum(['path', 'vhost']).optional(),
        credentials: z
          .union([
            z.literal('chain'),
            z.strictObject({ keyId: z.string().min(1), secret: z.string().min(1) }),
          ])
          .optional(),
      })
      .optional(),
    /** One file with the tables of all accounts. */
    combined: filePath.optional(),
  })
  .refine(
    ({ duckdb, parquet, ducklake }) => (duckdb ?? parquet ?? ducklake) !== undefined,
    'needs duckdb (a file), parquet (a folder) or ducklake (a catalog and its data), or several of them',
  );
