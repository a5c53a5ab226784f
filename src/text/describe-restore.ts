/** What the next sync does in a state folder without a state, as in a new container: nothing that was published is lost. */
export function describeRestore(place: string): string {
  return `There is no state here: the next sync restores it from ${place} and rereads what was committed after that was published.`;
}

/** The same where a destination could not be asked for a state. */
export function describeUnknownRestore(message: string): string {
  return `There is no state here, and whether a destination has one is not known: ${message}`;
}
