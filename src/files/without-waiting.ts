import { constants } from 'node:fs';

/** Opens a pipe at once, also without a program at its other end; Windows does not know it. */
export const WITHOUT_WAITING = (constants.O_NONBLOCK as number | undefined) ?? 0;
