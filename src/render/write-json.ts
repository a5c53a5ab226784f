/** JSON on one line, with control characters that a terminal would act on escaped. */
export function writeJson(value: unknown): string {
  return escapeJson(JSON.stringify(value, replaceForJson));
}

/** The same for text that is already JSON. */
export function escapeJson(text: string): string {
  return text.replaceAll(
    /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function replaceForJson(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  return value === undefined ? null : value;
}
