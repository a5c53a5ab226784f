import { type Document, isCollection, isScalar, type LineCounter, visit, type YAMLError } from 'yaml';
import { formatCountOf } from '../text/format-count.ts';
import type { Problem } from './problem.ts';

// Our own messages: those of the library quote the text, which may contain a key.
const messages: Partial<Record<YAMLError['code'], string>> = {
  ALIAS_PROPS: 'an alias can have no tag or anchor',
  BAD_ALIAS: 'this alias is not valid',
  BAD_DQ_ESCAPE: 'this \\ escape is not known; use single quotes for text with backslashes',
  BAD_SCALAR_START: 'a value cannot start with this character; put it in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'two keys on one line; put a value that holds ": " in quotes',
  DUPLICATE_KEY: 'this key is given twice',
  MISSING_CHAR: 'a closing quote, bracket, comma or colon is missing before this place',
  MULTILINE_IMPLICIT_KEY: 'a key must stand on one line; is a ":" missing?',
  MULTIPLE_DOCS: 'only one document is allowed; remove the --- line',
  NON_STRING_KEY: 'a key must be plain text',
  TAB_AS_INDENT: 'tabs cannot indent; use spaces',
  TAG_RESOLVE_FAILED: 'tags such as !env are not known; write ${NAME} for an environment variable',
  UNEXPECTED_TOKEN: 'this text is not expected here; is a quote or a comma missing?',
};

/** A text of YAML and what the library made of it. */
export interface FaultyYaml {
  readonly text: string;
  readonly document: Document.Parsed;
  readonly lines: LineCounter;
}

/** What is wrong, and where. The library reports where reading failed; people need the line to correct. */
interface Found {
  readonly message: string;
  readonly offset: number;
}

/** Describes an error of a text, at the place that has to be corrected. */
export function describeYamlError(error: YAMLError, yaml: FaultyYaml): Problem {
  const { message, offset } = findFault(error, yaml);
  const { line, col } = yaml.lines.linePos(offset);
  return { path: [], message, position: { line, column: col } };
}

function findFault(error: YAMLError, yaml: FaultyYaml): Found {
  const { text } = yaml;
  const [offset] = error.pos;
  const own = messages[error.code] ?? 'this is not valid YAML';
  if (/[{[,][^"']*\$\{/.test(lineAt(yaml, offset).text))
    return { message: 'inside { } or [ ] a placeholder needs quotes: "${NAME}"', offset };
  const open = findUnclosed(yaml, offset);
  if (open !== undefined) return open;
  switch (error.code) {
    case 'DUPLICATE_KEY': {
      const key = /^["']?([\w.-]+)/.exec(text.slice(offset))?.[1];
      return { message: key === undefined ? own : `the key "${key}" is given twice`, offset };
    }
    case 'BLOCK_AS_IMPLICIT_KEY':
      return findDeeperKey(error, yaml) ?? { message: own, offset };
    case 'BAD_INDENT':
      return describeIndent(yaml, offset);
    case 'MISSING_CHAR':
    case 'MULTILINE_IMPLICIT_KEY':
      return describeNoKey(yaml, offset) ?? { message: own, offset };
    default:
      return { message: own, offset };
  }
}

/** The quote, [ or { whose end was looked for in vain up to a place; the innermost of several. */
function findUnclosed({ document, text }: FaultyYaml, end: number): Found | undefined {
  let found: Found | undefined;
  visit(document, {
    Node(_, node) {
      const { range } = node;
      if (range?.[1] !== end || !(isScalar(node) || (isCollection(node) && node.flow === true))) return;
      const [offset] = range;
      const sign = text.charAt(offset);
      const closing = CLOSING[sign];
      const inside = text.slice(offset + 1, end).trimEnd();
      if (closing !== undefined && !inside.endsWith(closing)) {
        const what = sign === '[' || sign === '{' ? `this ${sign}` : 'this quote';
        found = { message: `${what} is not closed`, offset };
      }
    },
  });
  return found;
}

const CLOSING: Readonly<Record<string, string>> = { '"': '"', "'": "'", '[': ']', '{': '}' };

/** The key that made the value of the line before it the beginning of a longer key. */
function findDeeperKey({ pos: [offset] }: YAMLError, yaml: FaultyYaml): Found | undefined {
  const above = lineAt(yaml, offset);
  if (isIndentation(above, offset)) return describeIndent(yaml, offset);
  const longer = yaml.document.errors.find(
    ({ code, pos }) => code === 'MULTILINE_IMPLICIT_KEY' && lineAt(yaml, pos[0]).number === above.number,
  );
  const key = longer === undefined ? undefined : lineAt(yaml, longer.pos[1] - 1);
  if (key === undefined || key.number === above.number) return undefined;
  return {
    message: `this line is indented more than line ${above.number}, which has a value already; begin both alike`,
    offset: key.start + key.indent,
  };
}

function describeIndent(yaml: FaultyYaml, offset: number): Found {
  const line = nextContent(yaml, lineAt(yaml, offset));
  const above = lastContent(yaml, line);
  const place = line.start + line.indent;
  if (above === undefined) return { message: 'the indentation is wrong', offset: place };
  const own = formatCountOf(line.indent, 'space');
  return {
    message: `its indentation of ${own} fits no line above it: line ${above.number} has ${above.indent}`,
    offset: place,
  };
}

/** A line that should begin with a key, and has no colon, or no space after it. */
function describeNoKey(yaml: FaultyYaml, offset: number): Found | undefined {
  const line = lineAt(yaml, offset);
  if (!isIndentation(line, offset)) return undefined;
  const text = line.text.trim();
  // Text in quotes may have anything in it.
  if (/^["']/.test(text)) return undefined;
  const at = line.start + line.indent;
  if (/^[\w.-]+:\S/.test(text)) return { message: 'a space is missing after the ":"', offset: at };
  return /:(?:\s|$)/.test(text) ? undefined : { message: 'a ":" is missing after the key', offset: at };
}

interface Line {
  /** Counted from 1. */
  readonly number: number;
  /** Its place in the whole text. */
  readonly start: number;
  readonly text: string;
  /** White space before what it holds. */
  readonly indent: number;
}

function isIndentation({ start, indent }: Line, offset: number): boolean {
  return offset <= start + indent;
}

function lineAt(yaml: FaultyYaml, offset: number): Line {
  return takeLine(yaml, yaml.lines.linePos(offset).line);
}

function takeLine({ text, lines }: FaultyYaml, number: number): Line {
  const start = lines.lineStarts[number - 1] ?? text.length;
  const line = text.slice(start).split(/\r?\n/, 1)[0] ?? '';
  return { number, start, text: line, indent: line.length - line.trimStart().length };
}

function hasContent({ text }: Line): boolean {
  return !/^\s*(?:#|$)/.test(text);
}

/** The line, or the first one after it that is neither empty nor a comment. */
function nextContent(yaml: FaultyYaml, from: Line): Line {
  for (let { number } = from; number <= yaml.lines.lineStarts.length; number += 1) {
    const line = takeLine(yaml, number);
    if (hasContent(line)) return line;
  }
  return from;
}

function lastContent(yaml: FaultyYaml, before: Line): Line | undefined {
  for (let number = before.number - 1; number >= 1; number -= 1) {
    const line = takeLine(yaml, number);
    if (hasContent(line)) return line;
  }
  return undefined;
}
