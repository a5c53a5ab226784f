import { canonicalText } from '../../json/fingerprint.ts';
import type { Checkpoint } from '../../model/stream.ts';

/** Whether two checkpoints differ only in the run that wrote them. */
export function isSame(one: Checkpoint, other: Checkpoint | undefined): boolean {
  return canonicalText({ ...one, runId: '' }) === canonicalText({ ...other, runId: '' });
}

/** Whether a checkpoint is older than the current one of a table that was read in full: importing it skips nothing. */
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
