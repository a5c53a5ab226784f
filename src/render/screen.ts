import type { styleText } from 'node:util';

/** A style of node's `util.styleText`. */
export type Style = Parameters<typeof styleText>[0];
/** Styles text if colours are wanted; otherwise returns it unchanged. */
export type Paint = (style: Style, text: string) => string;

/** What the far end of a stream can show. */
export interface Screen {
  readonly isTerminal: boolean;
  /** Whether a display may redraw itself: a terminal that is neither CI nor dumb. */
  readonly canRedraw: boolean;
  readonly hasUnicode: boolean;
  readonly hasColours: boolean;
  readonly paint: Paint;
  /** Current width; undefined if unlimited. */
  readonly columns: () => number | undefined;
}
