import fc from 'fast-check';

/** Field names that something between an API and a SQL table has stumbled over. */
export const oddNames: readonly string[] = [
  '',
  ' ',
  '_',
  '__',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'length',
  '0',
  '1st',
  'id',
  'ID',
  'iD',
  'topicId',
  'topic_id',
  'a',
  'a b',
  'a.b',
  'a__b',
  'a/b',
  '"',
  '""',
  "'",
  ';',
  '"; DROP TABLE rows; --',
  "read_csv('/etc/passwd')",
  '$1',
  '?',
  // Not of backslashes alone: after one, V8 13.6 reads names of a backslash and one character as it.
  'back\\slash',
  'select',
  'null',
  '_run_id',
  '_synced_at',
  '_deleted_at',
  '_sluice_position',
  '_sluice_row',
  '_sluice_occurrence',
  'rowid',
  'ROWID',
  's',
  't',
  'i',
  'n',
  'd0',
  'c0',
  'c1',
  'change',
  'delta',
  'incoming',
  'text',
  'data',
  'Straße',
  'STRASSE',
  'İ',
  'ı',
  'é',
  'é',
  '日本',
  'שלום',
  '👍',
  '👍🏽',
  '\ud800',
  '\udc00\ud800',
  '\ufdd0',
  '\ufffd',
  '\u0000',
  'a\u0000_text',
  '\n',
  'x'.repeat(300),
  '𝒜'.repeat(100),
];

/** Number texts around every limit a column has. */
export const oddNumbers: readonly string[] = [
  '0',
  '-0',
  '-0.0',
  '-0e5',
  '1',
  '-1',
  '1.0',
  '1e2',
  '1E+2',
  '0.1',
  '1.5',
  '0.30000000000000004',
  '9007199254740991',
  '9007199254740992',
  '9007199254740993',
  '-9007199254740993',
  '1234567890123456800',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775808',
  '-9223372036854775809',
  '18446744073709551616',
  '100000000000000000000',
  '170141183460469231731687303715884105727',
  '170141183460469231731687303715884105728',
  '-170141183460469231731687303715884105727',
  '-170141183460469231731687303715884105728',
  '340282366920938463463374607431768211456',
  `1${'0'.repeat(60)}`,
  '123456789.123456789',
  '12345678901234567.25',
  '3.14159265358979323846264338327',
  '0.10000000000000000000000000000000001',
  '12345678901234567890.123456789012345678',
  '99999999999999999999999999999999999999',
  `0.${'1'.repeat(50)}`,
  '1e-7',
  '1e20',
  '1e21',
  '1e300',
  '1.7976931348623157e308',
  '5e-324',
  '3e-324',
  '1.23e-320',
  '1e-400',
  '-1e-400',
  '1e400',
  '-1e400',
];

/** Strings that look like something else, or are hard to carry. */
export const oddStrings: readonly string[] = [
  '',
  ' ',
  '0',
  '00123',
  '1e5',
  'NaN',
  'true',
  'null',
  '{}',
  '[1]',
  '"',
  '\\',
  '\\ud800',
  '\\\\ud800',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'x\udc00y\ud800',
  '\\\ud800',
  '😀',
  'שלום עולם',
  '\u202e.exe',
  '\u2028\u2029',
  '\r\n',
  '\ufeff',
  '2024-01-01',
  '2024-02-29',
  '2024-02-30',
  '2024-01-01T00:00:00Z',
  '2024-01-01T01:30:00+01:30',
  '2024-01-01 10:00',
  '2024-01-01T10:00:00.123456',
  '2024-01-01T10:00:00.123456789Z',
  '0001-01-01',
  '9999-12-31T23:59:59.999999-14:59',
  '12:30',
  'c56a4180-65aa-42ec-a945-5fd21dec0538',
];

const codeUnits = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 6 })
  .map((units) => String.fromCharCode(...units));

/** Any text, half characters included. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...oddStrings),
  fc.string({ unit: 'binary', maxLength: 12 }),
  codeUnits,
);

/** Any JSON number, as text. */
export const hostileNumber: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...oddNumbers),
  fc.integer().map(String),
  fc.bigInt({ min: -(2n ** 130n), max: 2n ** 130n }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => String(value).replace('e+', 'e')),
  fc
    .tuple(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), fc.bigInt({ min: 0n, max: 10n ** 25n }))
    .map(([whole, fraction]) => `${whole}.${fraction}`),
);

/** A JSON value as a tree that `writeHostileJson` spells out. */
export type HostileJson =
  | { readonly scalar: string | { readonly text: string } }
  | { readonly items: readonly HostileJson[] }
  | { readonly members: readonly (readonly [string, HostileJson])[] };

/** Any JSON value: odd names, names that come twice, odd numbers and strings. */
export function hostileJson(names: fc.Arbitrary<string>, maxDepth: number): fc.Arbitrary<HostileJson> {
  const scalar = fc
    .oneof(
      hostileText.map((text) => ({ text })),
      hostileNumber,
      fc.constantFrom('true', 'false', 'null'),
    )
    .map((value): HostileJson => ({ scalar: value }));
  if (maxDepth === 0) return scalar;
  const below = hostileJson(names, maxDepth - 1);
  return fc.oneof(
    { weight: 3, arbitrary: scalar },
    { weight: 1, arbitrary: fc.array(below, { maxLength: 3 }).map((items): HostileJson => ({ items })) },
    { weight: 2, arbitrary: hostileObject(names, below, 3) },
  );
}

/** An object with any members. */
export function hostileObject(
  names: fc.Arbitrary<string>,
  values: fc.Arbitrary<HostileJson>,
  maxLength: number,
): fc.Arbitrary<HostileJson> {
  return fc.array(fc.tuple(names, values), { maxLength }).map((members) => ({ members }));
}

/** Numbers that decide how a value is spelt: white space, escapes. */
export const spelling: fc.Arbitrary<readonly number[]> = fc.array(fc.nat({ max: 9 }), {
  minLength: 1,
  maxLength: 20,
});

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

const SPACES = ['', '', '', ' ', '\n', '\r\n', '\t', '  '] as const;

/** JSON text of a tree, with white space and escapes as the spelling says. */
export function writeHostileJson(value: HostileJson, spelling: readonly number[]): string {
  let turn = 0;
  const next = () => spelling[turn++ % spelling.length] ?? 0;
  const space = () => SPACES[next()] ?? '';
  // Both halves of a pair or none: a half can reach nobody as UTF-8.
  const escape = (text: string) =>
    [...text]
      .map((character) => (next() === 9 ? character.split('').map(escapeUnit).join('') : character))
      .join('');

  function writeString(text: string): string {
    // Units that have to be escaped are; of the others some are, which means the same.
    const inner = JSON.stringify(text).slice(1, -1);
    return /[\\]/.test(inner) ? `"${inner}"` : `"${escape(text)}"`;
  }

  function write(node: HostileJson): string {
    if ('scalar' in node) {
      return typeof node.scalar === 'string' ? node.scalar : writeString(node.scalar.text);
    }
    const parts =
      'items' in node
        ? node.items.map((item) => `${space()}${write(item)}${space()}`)
        : node.members.map(
            ([name, member]) =>
              `${space()}${writeString(name)}${space()}:${space()}${write(member)}${space()}`,
          );
    const [open, close] = 'items' in node ? '[]' : '{}';
    return `${open ?? ''}${parts.length === 0 ? space() : parts.join(',')}${close ?? ''}`;
  }

  return write(value);
}
