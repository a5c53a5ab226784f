import { z } from 'zod';
import { parseSummedJson, toSummedJson } from '../files/summed-json.ts';
import { verdicts } from '../model/run-report.ts';

const schema = z.object({
  format: z.literal('sluice-archive'),
  version: z.literal(1),
  stream: z.string(),
  /** Empty for a stream without slices. */
  slice: z.string(),
  runId: z.string(),
  /** The run that committed the previous scan of this stream. It links the scans of an archive into a chain. */
  previousRunId: z.string().optional(),
  /** The request without its start date. Pages with a different address belong to a different stream. */
  address: z.string(),
  /** Names the API key that read it, and reveals nothing of it; earlier releases did not record it. */
  key: z.string().optional(),
  /** Fields that were excluded or hashed before the pages were written to disk; see `MaskedFields`. */
  masks: z.record(z.string(), z.string()),
  plan: z.object({
    mode: z.enum(['full', 'incremental']),
    from: z.string().optional(),
    trial: z.boolean(),
    reason: z.string(),
    /** A full refresh before its time. */
    isBroughtForward: z.boolean().optional(),
  }),
  options: z.object({
    limit: z.number().optional(),
    from: z.string().optional(),
    allowEmpty: z.boolean().optional(),
  }),
  /** What the commit knew from earlier scans; undefined for a first scan. */
  known: z
    .object({
      cursorState: z.enum(['candidate', 'proved', 'refuted']).optional(),
      keyFields: z.array(z.string()).optional(),
    })
    .optional(),
  /** The rule for its cursor, as `nameCursorRule` writes it; earlier releases did not record it. */
  cursor: z.string().optional(),
  /** Path of the date field that the start date applied to; null if there was none. */
  datedBy: z.array(z.string()).nullable().optional(),
  verdict: z.enum(verdicts),
  reasons: z.array(z.string()),
  /** Of a `drifted` scan only. */
  cause: z.enum(['moved', 'contradiction', 'too-long']).optional(),
  total: z.number().optional(),
  rows: z.number(),
  pages: z.number(),
  rescans: z.number(),
  duplicateMembers: z.number(),
  /** The source may have been refreshed between its pages. */
  isApart: z.boolean().optional(),
  /** Total row count reported by the API when an incremental scan ended; null if it was not asked or gave none. */
  inApi: z.number().nullable().optional(),
  startedAtMs: z.number(),
  serverDateMs: z.number(),
  /** When its rows were loaded: their `_synced_at`. */
  loadedAtMs: z.number(),
  head: z
    .object({ question: z.string(), page: z.string(), total: z.number().optional(), day: z.string() })
    .optional(),
  /** The compressed records; scans with the same records share one file. */
  content: z.object({
    file: z.string().regex(/^[0-9a-f]{32}\.ndjson\.zst$/),
    /** SHA-256 of the lines before compression, hex. */
    sha256: z.string(),
    bytes: z.number(),
    /** Size of the file. Headers of earlier releases may have a wrong value, so it is not used as a check. */
    packedBytes: z.number(),
  }),
});

/** A scan as stored in the archive: everything its commit needed, and where its records are. */
export type ArchivedScan = z.infer<typeof schema>;
export type ArchivedContent = ArchivedScan['content'];

/** Parses a header; throws if it is invalid, or is not as it was written. */
export function parseArchivedScan(text: string): ArchivedScan {
  return schema.parse(parseSummedJson(text));
}

/** A header as text. */
export function formatArchivedScan(scan: ArchivedScan): string {
  return `${toSummedJson(scan, 1)}\n`;
}

/** Whether a scan read the whole stream, so that a rebuild can start from it. */
export function isWhole({ verdict, plan, options }: ArchivedScan): boolean {
  const trusted = verdict === 'verified' || verdict === 'unverified';
  return trusted && plan.mode === 'full' && options.limit === undefined;
}

/** The rule for the cursor of the scans that continue from each other; a scan of a part, or one that failed, started nothing. */
export function findCursorRule(scans: readonly ArchivedScan[]): string | undefined {
  const counts = (scan: ArchivedScan): boolean => {
    const { plan, options, cause } = scan;
    if (isWhole(scan)) return true;
    const isPart = options.from !== undefined || options.limit !== undefined;
    return !isPart && (plan.mode === 'incremental' || cause === 'too-long');
  };
  return (scans.findLast(counts) ?? scans.at(-1))?.cursor;
}
