import { z } from 'zod';
import { DURATION_TEXT, isTooLong, longestMessage, parseDuration } from '../text/duration.ts';

/** Message for an invalid duration. */
export const durationMessage = 'must be a duration such as 30m, 1h or 3d';

/** A duration of a config: text such as `3d`, or 0; milliseconds afterwards. */
export const duration = makeDuration(durationMessage);

/** The same with a message of its own. */
export function makeDuration(message: string) {
  return z
    .union([z.string().regex(DURATION_TEXT, message), z.literal(0)], message)
    .transform((value) => parseDuration(String(value)) ?? z.NEVER)
    .refine((ms) => !isTooLong(ms), longestMessage);
}
