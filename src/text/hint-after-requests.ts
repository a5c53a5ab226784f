/**
 * The hint of an error where requests were sent in spite of it: such hints are written for a sync, which ends there,
 * and say that nothing was requested.
 */
export function hintAfterRequests(hint: string, spent: number): string {
  if (spent === 0) return hint;
  return hint
    .replace(/Nothing was requested, and nothing was written\./, 'Nothing was written.')
    .replace(/ ?(?:Nothing was requested|No request was spent)\./, '')
    .trim();
}
