type Part = string | number;

/** A 32-bit hash of the parts: the only source of chance here, so equal parts always give equal data. */
export function hashOf(...parts: readonly Part[]): number {
  let hash = 0x811c9dc5;
  for (const part of parts) {
    const text = String(part);
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    hash = Math.imul(hash ^ 0x1f, 0x01000193);
  }
  // FNV alone leaves short inputs correlated, which would show as stripes in the data.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** A number in [0, 1) that depends on the parts alone. */
export function fractionOf(...parts: readonly Part[]): number {
  return hashOf(...parts) / 2 ** 32;
}

/** One element of the list, chosen by the parts. */
export function pickFrom<const List extends readonly [unknown, ...unknown[]]>(
  list: List,
  ...parts: readonly Part[]
): List[number] {
  return list[hashOf(...parts) % list.length];
}

/** A whole number from `min` to `max`, both included, chosen by the parts. */
export function integerBetween(min: number, max: number, ...parts: readonly Part[]): number {
  return min + (hashOf(...parts) % (max - min + 1));
}

/** A number from `min` to `max` with at most `digits` decimals, chosen by the parts. */
export function decimalBetween(min: number, max: number, digits: number, ...parts: readonly Part[]): number {
  return Number((min + (max - min) * fractionOf(...parts)).toFixed(digits));
}
