import { BugError } from '../../model/errors.ts';

/** Parts of a name: no part begins with a dot, so that none leads out of a folder or is taken for a temporary file. */
const NAME = /^[a-zA-Z0-9_][\w.=-]{0,199}(?:\/[a-zA-Z0-9_][\w.=-]{0,199})*$/;
const MOST_CHARACTERS = 800;

/** Whether an object may have this name; others in the place are somebody else's. */
export function isObjectName(name: string): boolean {
  return name.length <= MOST_CHARACTERS && NAME.test(name);
}

/** Refuses a name that could leave the place of the store. Throws BugError (1): names are made of checked parts. */
export function assertObjectName(name: string): void {
  if (isObjectName(name)) return;
  throw new BugError(`${JSON.stringify(name.slice(0, 80))} cannot be the name of an object`, {
    code: 'bug',
    hint: 'This is a bug in Sluice; nothing was stored or removed. Please report it with the text above.',
  });
}
