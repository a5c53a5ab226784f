/** Changes every text in a plain value, and leaves the rest unchanged. */
export function mapTexts<T>(value: T, change: (text: string) => string): T {
  if (typeof value === 'string') return change(value) as T;
  if (Array.isArray(value)) return value.map((item: unknown) => mapTexts(item, change)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, member]): [string, unknown] => [
    name,
    mapTexts<unknown>(member, change),
  ]);
  return Object.fromEntries(entries) as T;
}
