import { z } from 'zod';
import { verdicts } from '../src/model/run-report.ts';

const date = z.iso.date();
const time = z.iso.datetime();

/** One checkpoint. */
export const checkpointSchema = z.object({
  stream: z.string().min(1),
  slice: z.string(),
  fingerprint: z.string(),
  cursorField: z.string().optional(),
  cursorState: z.enum(['candidate', 'proved', 'refuted']).optional(),
  watermark: date.optional(),
  keyFields: z.array(z.string().min(1)).min(1).optional(),
  keyOrigin: z.enum(['config', 'learned']).optional(),
  keyProvedOn: z.array(date),
  lastFullScanAt: time.optional(),
  lastVerifiedAt: time.optional(),
  lastVerdict: z.enum(verdicts).optional(),
  rowsDeclared: z.int().nonnegative().optional(),
  rules: z.string().optional(),
  fullRefreshDue: z.string().optional(),
  wholeAt: time.optional(),
  provedFrom: date.optional(),
  counts: z
    .object({
      at: time,
      inApi: z.int().nonnegative().optional(),
      inTable: z.int().nonnegative(),
      kept: z.int().nonnegative(),
      suspected: z.int().nonnegative(),
      suspectedOn: z.record(z.string(), z.int().positive()).optional(),
      oldest: z
        .object({
          date: z.string(),
          left: z.int().nonnegative(),
          inside: z.int().nonnegative(),
        })
        .optional(),
      unloaded: z.int(),
      quarantined: z.int().nonnegative(),
      difference: z.int(),
      broughtForwardAt: time.optional(),
      uncountedAt: time.optional(),
    })
    .transform((counts) => ({ ...counts, inApi: counts.inApi }))
    .optional(),
  head: z
    .object({ question: z.string(), page: z.string(), total: z.number().optional(), day: date })
    .optional(),
  runId: z.string(),
  seal: z.string().optional(),
});

/** The JSON written by `state export`, version 1. */
export const exportedStateSchema = z
  .object({
    format: z.literal('sluice-state'),
    version: z.literal(1),
    exportedAt: z.string(),
    connector: z.string(),
    baseUrl: z.string(),
    checkpoints: z.array(checkpointSchema),
  })
  .transform((state) => ({
    ...state,
    checkpoints: state.checkpoints.map((checkpoint) => ({
      ...EMPTY,
      ...checkpoint,
      head: checkpoint.head && { ...checkpoint.head, total: checkpoint.head.total },
    })),
  }));

// Omitted in JSON.
const EMPTY = {
  cursorField: undefined,
  cursorState: undefined,
  watermark: undefined,
  keyFields: undefined,
  keyOrigin: undefined,
  lastFullScanAt: undefined,
  lastVerifiedAt: undefined,
  lastVerdict: undefined,
  rowsDeclared: undefined,
  rules: undefined,
};
