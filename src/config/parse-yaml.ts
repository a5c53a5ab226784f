import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Document,
  type YAMLError,
} from 'yaml';
import type { ConfigPath } from './config-path.ts';
import type { Position, Problem } from './problem.ts';
import { describeYamlError } from './yaml-errors.ts';

/** A YAML text as plain values, with the position of each. */
export interface ParsedYaml {
  readonly value: unknown;
  readonly problems: readonly Problem[];
  /** Position of the key at a path, or of its nearest parent in the text. */
  readonly locate: (path: ConfigPath) => Position | undefined;
  /** A number's text as written, e.g. `007`. */
  readonly numberText: (path: ConfigPath) => string | undefined;
}

/** Parses one YAML 1.2 document; what is wrong with it comes back as problems with their positions. */
export function parseYaml(text: string): ParsedYaml {
  const lines = new LineCounter();
  // Pretty errors would copy lines of the file, possibly with a key, into messages.
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
    version: '1.2',
    logLevel: 'error',
  });
  const faulty = { text, document, lines };
  const problems = listYamlErrors(document).map((error) => describeYamlError(error, faulty));
  const plain = problems.length === 0 ? toPlainValue(document) : { value: undefined, problems };
  return {
    ...plain,
    locate: (path) => locateKey(document, lines, path),
    numberText: (path) => {
      const node: unknown = document.getIn(path, true);
      return isScalar(node) && typeof node.value === 'number' ? node.source : undefined;
    },
  };
}

// One syntax error causes more in the text after it, so only the first is reported.
function listYamlErrors(document: Document.Parsed): readonly YAMLError[] {
  const errors = [...document.errors, ...document.warnings].sort((a, b) => a.pos[0] - b.pos[0]);
  const isSyntax = ({ code }: YAMLError) => code !== 'DUPLICATE_KEY' && code !== 'TAG_RESOLVE_FAILED';
  const first = errors.findIndex(isSyntax);
  return first === -1 ? errors : errors.slice(0, first + 1);
}

function toPlainValue(document: Document.Parsed): Pick<ParsedYaml, 'value' | 'problems'> {
  try {
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    // An alias inside its own anchor makes an infinite value; JSON rejects exactly those.
    JSON.stringify(value);
    return { value, problems: [] };
  } catch {
    return {
      value: undefined,
      problems: [
        { path: [], message: 'an alias names no anchor above it, names itself, or is used too often' },
      ],
    };
  }
}

function locateKey(document: Document.Parsed, lines: LineCounter, path: ConfigPath): Position | undefined {
  let node: unknown = document.contents;
  let offset = document.contents?.range[0];
  for (const part of path) {
    if (isAlias(node)) node = node.resolve(document);
    const child = findChild(node, part);
    if (child === undefined) break;
    offset = child.offset ?? offset;
    node = child.node;
  }
  if (offset === undefined) return undefined;
  const { line, col } = lines.linePos(offset);
  return { line, column: col };
}

function findChild(
  node: unknown,
  part: string | number,
): { readonly node: unknown; readonly offset: number | undefined } | undefined {
  if (isMap(node)) {
    const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === String(part));
    if (pair === undefined) return undefined;
    return { node: pair.value, offset: isScalar(pair.key) ? pair.key.range?.[0] : undefined };
  }
  if (!isSeq(node) || typeof part !== 'number') return undefined;
  const item: unknown = node.items[part];
  return { node: item, offset: isScalar(item) || isMap(item) || isSeq(item) ? item.range?.[0] : undefined };
}
