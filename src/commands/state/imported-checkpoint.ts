import { canonicalText } from '../../json/fingerprint.ts';
import type { Checkpoint } from '../../model/stream.ts';

/** Whether two checkpoints differ in nothing but the run that wrote them. */
export function isSame(one: Checkpoint, other: Checkpoint | undefined): boolean {
  return canonicalText({ ...one, runId: '' }) === canonicalText({ ...other, runId: '' });
}

/** Whether a checkpoint lies behind the current one of a table that was read in full: nothing is left out by it. */
export function goesBack(checkpoint: Checkpoint, before: Checkpoint | undefined): boolean {
  const { fingerprint, keyFields, cursorField, watermark } = checkpoint;
  if (before?.lastFullScanAt === undefined || before.watermark === undefined) return false;
  if (watermark === undefined || watermark > before.watermark) return false;
  const asked = { fingerprint, keyFields, cursorField };
  const { fingerprint: own, keyFields: ownKey, cursorField: ownCursor } = before;
  return (
    canonicalText(asked) === canonicalText({ fingerprint: own, keyFields: ownKey, cursorField: ownCursor })
  );
}
