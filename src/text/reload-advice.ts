/** What brings rows back, after an advice to move a file away, where neither a state nor a backup is left. */
export const RELOAD =
  '`sluice rebuild` then loads what the archive in the state folder has, without a request; without an archive the next sync reads everything from the API.';
