import { z } from 'zod';
import { readSection } from './write-page.ts';

/** Ratios of one run by name; a larger one is better. Unlike seconds, they are alike on other machines. */
export type Ratios = Readonly<Record<string, number>>;

/** A ratio may fall by so much: less is noise. */
const MOST_FALL = 0.2;
const [BEGIN, END] = ['<!-- ratios ', ' -->'];
const recordSchema = z.record(z.string(), z.number());

/** Ratios as a comment of a page, which `--check` reads. */
export function writeRatios(ratios: Ratios): string {
  const rounded = Object.entries(ratios).map(([name, value]) => [name, Number(value.toPrecision(3))]);
  return `${BEGIN}${JSON.stringify(Object.fromEntries(rounded))}${END}`;
}

/** The ratios that the section of a part has; empty if it has none. */
export function readRatios(page: string, part: string): Ratios {
  const line = readSection(page, part)
    .split('\n')
    .find((one) => one.startsWith(BEGIN));
  return line === undefined ? {} : recordSchema.parse(JSON.parse(line.slice(BEGIN.length, -END.length)));
}

/** A ratio beside the recorded one. */
export interface RatioCheck {
  readonly isFine: boolean;
  readonly words: string;
}

/** Compares what was found with what the page has; a ratio that was not found does not pass. */
export function checkRatios(recorded: Ratios, found: Ratios): readonly RatioCheck[] {
  return Object.entries(recorded).map(([name, before]) => {
    const now = found[name];
    if (now === undefined) return { isFine: false, words: `${name}: not measured, ${before} in the page` };
    const change = (now / before - 1) * 100;
    const sign = change < 0 ? '' : '+';
    return {
      isFine: now >= before * (1 - MOST_FALL),
      words: `${name}: ${now.toPrecision(3)}, ${before} in the page (${sign}${change.toFixed(0)} %)`,
    };
  });
}
