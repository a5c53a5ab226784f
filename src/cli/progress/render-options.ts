import type { Paint } from '../terminal/output.ts';

/** What the picture of a run depends on in addition to its state. */
export interface RenderOptions {
  readonly columns: number;
  readonly nowMs: number;
  readonly hasUnicode: boolean;
  readonly paint: Paint;
}
