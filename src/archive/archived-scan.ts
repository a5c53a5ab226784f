import { z } from 'zod';

const schema = z.object({
  format: z.literal('sluice-archive'),
  version: z.literal(1),
  stream: z.string(),
  /** Empty for a stream that is read as a whole. */
  slice: z.string(),
  runId: z.string(),
  /** The run whose scan of this stream was committed before; the scans of an archive form a chain by it. */
  previousRunId: z.string().optional(),
  /** What was asked, apart from the start date: pages of another address are another stream's. */
  address: z.string(),
  /** Fields that were left out or hashed before the pages reached the disk; see `MaskedFields`. */
  masks: z.record(z.string(), z.string()),
  plan: z.object({
    mode: z.enum(['full', 'incremental']),
    from: z.string().optional(),
    trial: z.boolean(),
    reason: z.string(),
  }),
  options: z.object({
    limit: z.number().optional(),
    from: z.string().optional(),
    allowEmpty: z.boolean().optional(),
  }),
  /** What the commit took for known from earlier scans; undefined for a first one. */
  known: z
    .object({
      cursorState: z.enum(['candidate', 'proved', 'refuted']).optional(),
      keyFields: z.array(z.string()).optional(),
    })
    .optional(),
  /** Path of the field its rows are dated by, null for none: it says what the start date was about. */
  datedBy: z.array(z.string()).nullable().optional(),
  verdict: z.enum(['verified', 'unverified', 'drifted', 'partial']),
  reasons: z.array(z.string()),
  /** Of a `drifted` scan only. */
  cause: z.enum(['moved', 'contradiction', 'too-long']).optional(),
  total: z.number().optional(),
  rows: z.number(),
  pages: z.number(),
  rescans: z.number(),
  duplicateMembers: z.number(),
  /** A refresh of the source may lie between its pages. */
  isApart: z.boolean().optional(),
  /** Rows the API counted in all when an incremental scan ended; null: it was not asked, or did not tell. */
  inApi: z.number().nullable().optional(),
  startedAtMs: z.number(),
  serverDateMs: z.number(),
  /** When its rows were loaded: their `_synced_at`. */
  loadedAtMs: z.number(),
  head: z
    .object({ question: z.string(), page: z.string(), total: z.number().optional(), day: z.string() })
    .optional(),
  /** The compressed records; scans that brought the same share one file. */
  content: z.object({
    file: z.string().regex(/^[0-9a-f]{32}\.ndjson\.zst$/),
    /** SHA-256 of the lines before compression, hex. */
    sha256: z.string(),
    bytes: z.number(),
    /** Size of the file; headers of earlier releases may tell another one, so nothing is proved by it. */
    packedBytes: z.number(),
  }),
});

/** A scan as the archive keeps it: everything its commit was told, and where its records are. */
export type ArchivedScan = z.infer<typeof schema>;
export type ArchivedContent = ArchivedScan['content'];

/** Reads a header; throws for anything that is none. */
export function parseArchivedScan(text: string): ArchivedScan {
  return schema.parse(JSON.parse(text));
}

/** Whether a scan read everything there is, so that a table can begin with it. */
export function isWhole({ verdict, plan, options }: ArchivedScan): boolean {
  const trusted = verdict === 'verified' || verdict === 'unverified';
  return trusted && plan.mode === 'full' && options.limit === undefined;
}
