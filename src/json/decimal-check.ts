const POINT = 46;
const ZERO = 48;
const MINUS = 45;
// Powers of ten that a double holds exactly.
const POWERS = Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));
// Serializers write smaller numbers with an exponent.
const MOST_LEADING_ZEROS = 5;
// No double takes more digits to be written.
const MOST_DIGITS = 17;
// Fewer digits are those of one double at most, and that has none shorter.
const SURE_DIGITS = 15;
const MOST_SAFE_DIGITS = 16;
const SPLITTER = 2 ** 27 + 1;
// Rounding errors of what is computed here are far below it.
const MARGIN = 1e-6;

const double = new Float64Array(1);
const halves = new Uint32Array(double.buffer);
// Which half has the exponent differs by machine.
const HIGH = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? 1 : 0;
const LOW = 1 - HIGH;
const EXPONENT = 0x7ff00000;
// Of a double's last bit to its first: exactly 2 ** -52.
const LAST_BIT = Number.EPSILON;

/**
 * Whether a decimal fraction in these bytes, `-?digits.digits`, is surely what serializers write for the double that it
 * reads as: the shortest digits that give this double, and the nearest to it of these. False where that is not so, and
 * in cases so close that it takes more than doubles to tell. Makes no garbage, unlike `String(Number(text)) === text`.
 */
export function isShortestDecimal(bytes: Uint8Array, start: number, end: number): boolean {
  // Digits from the first that is not zero: the first nine or fewer, and the rest.
  let high = 0;
  let low = 0;
  let digits = 0;
  let decimals = 0;
  let isFraction = false;
  for (let at = bytes[start] === MINUS ? start + 1 : start; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte === POINT) {
      isFraction = true;
      continue;
    }
    if (isFraction) decimals += 1;
    const digit = byte - ZERO;
    if (digits === 0 && digit === 0) continue;
    digits += 1;
    if (digits <= 9) high = high * 10 + digit;
    else low = low * 10 + digit;
  }
  const last = (bytes[end - 1] as number) - ZERO;
  if (!isFraction || last === 0 || digits > MOST_DIGITS || decimals - digits > MOST_LEADING_ZEROS)
    return false;
  if (digits <= SURE_DIGITS) return true;
  const power = POWERS[decimals];
  if (power === undefined) return false;
  // All digits are the sum of these two, and neither was rounded.
  return isNearest(high * (POWERS[digits - 9] as number), low, power, last);
}

/** The same for `(high + low) / power`, whose last digit is `last`. */
function isNearest(high: number, low: number, power: number, last: number): boolean {
  const sum = high + low;
  const lost = low - (sum - high);
  const guess = sum / power;
  // How far the guess is from the decimal, in units of the last digit.
  let rest = sum - guess * power - errorOfProduct(guess, power) + lost;
  double[0] = guess;
  const bits = halves[HIGH] as number;
  const mantissa = bits & 0xfffff;
  // Next to a power of two, doubles are not evenly apart.
  if (mantissa === 0 || mantissa === 0xfffff) return false;
  // The power of two at or below the guess: made of its exponent, as `**` takes longer than all of the rest.
  halves[HIGH] = bits & EXPONENT;
  halves[LOW] = 0;
  const step = double[0] * LAST_BIT * power;
  // The nearest double may be the next one.
  if (rest > step / 2) rest -= step;
  else if (rest < -step / 2) rest += step;
  const reach = step / 2;
  const off = Math.abs(rest);
  if (off > reach - MARGIN || off > 0.5 - MARGIN) return false;
  // The nearest decimals with a digit less have to read as other doubles.
  return last - rest > reach + MARGIN && 10 - last + rest > reach + MARGIN;
}

/** What `a * b` as a double lacks of the exact product. */
function errorOfProduct(a: number, b: number): number {
  const product = a * b;
  const highA = highBits(a);
  const lowA = a - highA;
  const highB = highBits(b);
  const lowB = b - highB;
  return highA * highB - product + highA * lowB + lowA * highB + lowA * lowB;
}

function highBits(value: number): number {
  const shifted = SPLITTER * value;
  return shifted - (shifted - value);
}

/** Whether a whole number in these bytes, `-?digits`, is one that a double holds, as are those next to it. */
export function isSafeWhole(bytes: Uint8Array, start: number, end: number): boolean {
  const first = bytes[start] === MINUS ? start + 1 : start;
  if (end - first > MOST_SAFE_DIGITS) return false;
  let value = 0;
  for (let at = first; at < end; at += 1) value = value * 10 + ((bytes[at] as number) - ZERO);
  return value <= Number.MAX_SAFE_INTEGER;
}
