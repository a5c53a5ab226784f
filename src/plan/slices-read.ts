import type { Checkpoint, Stream } from '../model/stream.ts';

/** Whether a slice of the stream was read to its end: what the parameters do was asked then. */
export function isAnySliceRead({ name, slices }: Stream, checkpoints: readonly Checkpoint[]): boolean {
  const wanted = new Map(slices.map(({ id, fingerprint }) => [id, fingerprint]));
  return checkpoints.some(
    ({ stream, slice, fingerprint, lastFullScanAt }) =>
      stream === name && lastFullScanAt !== undefined && wanted.get(slice) === fingerprint,
  );
}
