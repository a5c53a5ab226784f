import { z } from 'zod';
import { classifyString } from '../schema/classify-time.ts';
import { Kind } from '../schema/field-kinds.ts';

/** Whether a text has a format. */
export type HasFormat = (text: string) => boolean;

// Dates and times are told apart as columns tell them, so that a format holds what its column holds.
const temporal = {
  date: Kind.date,
  'date-time': Kind.timestampWithZone,
  'date-time-local': Kind.timestampWithoutZone,
} as const;

// With or without an offset: a time of day stays text either way.
const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):?[0-5]\d)?$/;

const others = {
  time: z.string().regex(TIME),
  duration: z.iso.duration(),
  email: z.email(),
  hostname: z.hostname(),
  ipv4: z.ipv4(),
  ipv6: z.ipv6(),
  uri: z.url(),
  // Any version: `uuid` of JSON Schema asks for the shape alone.
  uuid: z.guid(),
} as const;

/** Values of `format` that are checked. */
export const checkedFormats: readonly string[] = [...Object.keys(temporal), ...Object.keys(others)];

/** True for a format that decides a column's type: a value without it is a matter of types. */
export function isTemporalFormat(format: string): boolean {
  return Object.hasOwn(temporal, format);
}

/** The check of a format that `checkedFormats` has. */
export function compileFormat(format: string): HasFormat {
  if (Object.hasOwn(temporal, format)) {
    const kind = temporal[format as keyof typeof temporal];
    return (text) => classifyString(text) === kind;
  }
  const type = others[format as keyof typeof others];
  return (text) => type.safeParse(text).success;
}
