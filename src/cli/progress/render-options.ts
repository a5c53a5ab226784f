import type { Paint } from '../../render/screen.ts';

/** What the picture of a run depends on in addition to its state. */
export interface RenderOptions {
  readonly columns: number;
  readonly nowMs: number;
  readonly hasUnicode: boolean;
  readonly paint: Paint;
}
