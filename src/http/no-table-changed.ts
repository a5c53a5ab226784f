/** What is safe when a request fails, before the first commit as well as after it. */
export const NO_TABLE_CHANGED = 'No table was changed.';
