/** One command-line option, its twin in the environment and the check for both. */
export interface Option<T> {
  /** Name without the dashes, e.g. `max-wait`; its twin is `SLUICE_MAX_WAIT`. */
  readonly flag: string;
  readonly alias?: string;
  readonly takesValue: boolean;
  /** The value is a list separated by commas: given twice, the option means all of them. Of others, the last one counts. */
  readonly isList?: boolean;
  /** What `--help` calls the value, e.g. `number`; only for an option that takes one. */
  readonly valueName?: string;
  /** Text of `--help`. */
  readonly summary: string;
  /** Heading it stands under in `--help`. */
  readonly group: string;
  /** A valid value, shown whenever an invalid one is rejected. */
  readonly example: string;
  readonly parse: (text: string, nowMs: number) => ParsedValue<T>;
}

/** Outcome of reading one value: the value, or what is wrong with the text as `must be ...`. */
export type ParsedValue<T> = { readonly value: T } | { readonly problem: string };

/** What describes an option of any kind. */
export interface OptionText {
  readonly flag: string;
  readonly alias?: string;
  readonly summary: string;
  readonly group: string;
  /** A name for the value that differs from its kind's. */
  readonly valueName?: string;
}

/** Name of the environment variable that stands in for a flag. */
export function nameTwin(flag: string): string {
  return `SLUICE_${flag.replaceAll('-', '_').toUpperCase()}`;
}
