/**
 * A JSON value as it was written: numbers keep their text, of a member written twice the last one stays.
 * Read by a parser of its own, so that tests do not judge Sluice's reading by Sluice's reading.
 */
export type PlainJson =
  | { readonly kind: 'null' }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'array'; readonly items: readonly PlainJson[] }
  | { readonly kind: 'object'; readonly members: ReadonlyMap<string, PlainJson> };

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const STRING = /"(?:[^"\\]|\\.)*"/sy;

/** Reads JSON text. */
export function readPlainJson(text: string): PlainJson {
  let at = 0;

  function skipSpace(): void {
    while (' \t\r\n'.includes(text[at] ?? 'x')) at += 1;
  }

  function take(token: string): boolean {
    skipSpace();
    if (!text.startsWith(token, at)) return false;
    at += token.length;
    return true;
  }

  function match(pattern: RegExp): string | undefined {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    at += found?.length ?? 0;
    return found;
  }

  function readString(): string | undefined {
    skipSpace();
    const token = match(STRING);
    return token === undefined ? undefined : (JSON.parse(token) as string);
  }

  function readObject(): PlainJson {
    const members = new Map<string, PlainJson>();
    if (take('}')) return { kind: 'object', members };
    do {
      const name = readString();
      if (name === undefined || !take(':')) throw new Error(`no member at ${at}`);
      members.set(name, readValue());
    } while (take(','));
    if (!take('}')) throw new Error(`no } at ${at}`);
    return { kind: 'object', members };
  }

  function readArray(): PlainJson {
    const items: PlainJson[] = [];
    if (take(']')) return { kind: 'array', items };
    do items.push(readValue());
    while (take(','));
    if (!take(']')) throw new Error(`no ] at ${at}`);
    return { kind: 'array', items };
  }

  function readValue(): PlainJson {
    if (take('{')) return readObject();
    if (take('[')) return readArray();
    if (take('null')) return { kind: 'null' };
    if (take('true')) return { kind: 'boolean', value: true };
    if (take('false')) return { kind: 'boolean', value: false };
    const string = readString();
    if (string !== undefined) return { kind: 'string', value: string };
    const number = match(NUMBER);
    if (number === undefined) throw new Error(`no value at ${at}`);
    return { kind: 'number', text: number };
  }

  const value = readValue();
  skipSpace();
  if (at !== text.length) throw new Error(`more text at ${at}`);
  return value;
}

/** True when two texts write one number: as fractions, so that nothing is rounded. The sign of zero does not count. */
export function isSameNumber(a: string, b: string): boolean {
  const [left, right] = [toFraction(a), toFraction(b)];
  if (left === undefined || right === undefined) return false;
  const shift = left.power - right.power;
  return shift >= 0n
    ? left.digits * 10n ** shift === right.digits
    : left.digits === right.digits * 10n ** -shift;
}

function toFraction(text: string): { readonly digits: bigint; readonly power: bigint } | undefined {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  if (match === null) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const digits = BigInt(whole + fraction) * (sign === '-' ? -1n : 1n);
  return { digits, power: digits === 0n ? 0n : BigInt(exponent) - BigInt(fraction.length) };
}

/** True for equal values: members in any order, numbers by value. */
export function isSameJson(a: PlainJson, b: PlainJson): boolean {
  if (a.kind === 'number' && b.kind === 'number') return isSameNumber(a.text, b.text);
  if (a.kind === 'string' && b.kind === 'string') return a.value === b.value;
  if (a.kind === 'boolean' && b.kind === 'boolean') return a.value === b.value;
  if (a.kind === 'array' && b.kind === 'array') {
    return (
      a.items.length === b.items.length &&
      a.items.every((item, at) => isSameJson(item, b.items[at] ?? { kind: 'null' }))
    );
  }
  if (a.kind === 'object' && b.kind === 'object') {
    return (
      a.members.size === b.members.size &&
      [...a.members].every(([name, value]) => {
        const match = b.members.get(name);
        return match !== undefined && isSameJson(value, match);
      })
    );
  }
  return a.kind === 'null' && b.kind === 'null';
}

/** The value as the warehouse keeps it: half characters have no UTF-8 form and become U+FFFD. */
export function toStoredJson(value: PlainJson): PlainJson {
  switch (value.kind) {
    case 'string':
      return { kind: 'string', value: value.value.toWellFormed() };
    case 'array':
      return { kind: 'array', items: value.items.map(toStoredJson) };
    case 'object': {
      const members = [...value.members].map(
        ([name, member]) => [name.toWellFormed(), toStoredJson(member)] as const,
      );
      return { kind: 'object', members: new Map(members) };
    }
    default:
      return value;
  }
}
