import type { Build } from './build.ts';
import type { Ratios } from './ratios.ts';

/** What a part of the benchmarks found: a table, and what to know about its numbers. */
export interface Finding {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly notes: readonly string[];
  /** What `--check` compares with the page. */
  readonly ratios?: Ratios;
}

/** What a part is given. */
export interface PartOptions {
  /** Rows, or what else the part counts; the part's own default when left out. */
  readonly size: number | undefined;
  /** An empty folder to work in; removed afterwards. */
  readonly folder: string;
  /** How often a time is taken for a median; the part's own default when left out. */
  readonly repeats?: number | undefined;
  /** What is measured. */
  readonly build: Build;
  /** Reports what is being done. */
  readonly say: (line: string) => void;
}

/** Measures one matter. */
export type Part = (options: PartOptions) => Promise<readonly Finding[]>;

/** A finding as Markdown; the first column to the left, numbers to the right. */
export function writeFinding({ title, head, rows, notes }: Finding): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const rule = head.map((_, at) => (at === 0 ? '---' : '---:'));
  const lines = [`**${title}**`, '', line(head), line(rule), ...rows.map(line)];
  return [...lines, ...(notes.length > 0 ? ['', ...notes.map((note) => `- ${note}`)] : [])].join('\n');
}

/** A goal and whether it is met, with the value found. */
export function writeGoal(goal: string, isMet: boolean, found: string): string {
  return `Goal: ${goal}. ${isMet ? 'Met' : '**Not met**'}: ${found}.`;
}

/** The middle one; of an even number the lower of both. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? NaN;
}

/** 1,234,567. */
export function writeCount(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** Enough digits to compare: 0.034, 1.24, 12.3, 345. */
export function writeNumber(value: number): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3;
  return value.toFixed(digits);
}
