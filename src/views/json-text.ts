import { quoteLiteral } from '../warehouse/identifiers.ts';

// The engine reads numbers of JSON as doubles, so 38 digits would be rounded. Where that may matter, each text of the
// JSON gets an `s` in front, and each number becomes a text with an `n`: nothing is left to be rounded, and text and
// numbers still differ. The patterns take whole texts and numbers from left to right, so what looks like a number inside
// a text is never one.
const TEXT = String.raw`"(?:[^"\\]|\\.)*"`;
const TEXTS = String.raw`"((?:[^"\\]|\\.)*)"`;
const NUMBERS = String.raw`((?:${TEXT}|[^"0-9-])*)(-?[0-9][0-9.eE+-]*)`;
const TAGGED_NUMBERS = String.raw`((?:"s(?:[^"\\]|\\.)*"|[^"])*)"n([^"]*)"`;
const TAGGED_TEXTS = String.raw`"s((?:[^"\\]|\\.)*)"`;

/** SQL of an array with tags, in an array with a number behind it: each search for a number then ends at one. */
export function tagNumbers(json: string): string {
  const texts = replaceAll(`CAST(${json} AS VARCHAR)`, TEXTS, String.raw`"s\1"`);
  return `CAST(${replaceAll(`'[' || ${texts} || ',0]'`, NUMBERS, String.raw`\1"n\2"`)} AS JSON)`;
}

/** SQL of a part of it as JSON again, without the tags. */
export function untagNumbers(json: string): string {
  const numbers = replaceAll(`'[' || CAST(${json} AS VARCHAR) || ',"n0"]'`, TAGGED_NUMBERS, String.raw`\1\2`);
  const texts = replaceAll(numbers, TAGGED_TEXTS, String.raw`"\1"`);
  return `CAST(regexp_replace(${texts}, '^.(.*),0.$', ${quoteLiteral(String.raw`\1`)}, 's') AS JSON)`;
}

function replaceAll(text: string, pattern: string, by: string): string {
  return `regexp_replace(${text}, ${quoteLiteral(pattern)}, ${quoteLiteral(by)}, 'g')`;
}
