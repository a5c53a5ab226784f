import { describe, expect, it } from 'vitest';
import { parseYaml } from '../../src/config/parse-yaml.ts';

/** The first problem of these lines, as `line:column message`. */
function problemOf(...lines: readonly string[]): string {
  const [problem] = parseYaml(`${lines.join('\n')}\n`).problems;
  return `${problem?.position?.line}:${problem?.position?.column} ${problem?.message}`;
}

describe('a slip in a YAML text is reported at the line to correct', () => {
  it('with spaces too many after a value', () => {
    const deeper = (line: number) =>
      new RegExp(`is indented more than line ${line}, which has a value already`);
    expect(problemOf('source:', '  connector: a', '   baseUrl: b', '  apiKey: c')).toMatch(/^3:4 this line /);
    expect(problemOf('source:', '  connector: a', '   baseUrl: b', '  apiKey: c')).toMatch(deeper(2));
    expect(problemOf('a: 1', ' b: 2')).toMatch(/^2:2 /);
    expect(problemOf('streams:', '  x:', '    key: auto', '     columns:', '      a: 1')).toMatch(/^4:6 /);
    expect(problemOf('a:', '  b: one', '    two', '   c: 3')).toMatch(/^4:4 /);
    expect(problemOf('a:', '  b: one', '    two', '   c: 3')).toMatch(deeper(2));
    expect(problemOf('a: &name b', '   c: 2')).toMatch(/^2:4 /);
  });

  it.each([
    [
      'too many after a quoted value',
      ['a:', '  b: "x"', '   c: 2'],
      '3:4',
      '3 spaces fits no',
      'line 2 has 2',
    ],
    ['too many after a list', ['a:', '  b: [x]', '   c: 2'], '3:4', '3 spaces fits no', 'line 2 has 2'],
    [
      'too many after a comment',
      ['a:', '  b: x', '', '  # note', '   c: y'],
      '5:4',
      '3 spaces',
      'line 2 has 2',
    ],
    ['too many after a map', ['a: { b: 1 }', ' c: 2'], '2:2', '1 space fits no', 'line 1 has 0'],
    ['too many before the others', ['a:', '   b: 1', '  c: 2'], '3:3', '2 spaces fits no', 'line 2 has 3'],
    ['too few', ['a:', '  b: 1', ' c: 2'], '3:2', '1 space fits no', 'line 2 has 2'],
    ['too few, further down', ['a:', '    b:', '      c: 1', '   d: 1'], '4:4', '3 spaces', 'line 3 has 6'],
    ['too few in a list', ['a:', '  b:', '    - x', '   - y'], '4:4', '3 spaces', 'line 3 has 4'],
  ])('with spaces %s', (_, lines, place, own, other) => {
    const problem = problemOf(...lines);
    expect(problem.startsWith(`${place} its indentation of ${own}`), problem).toBe(true);
    expect(problem).toContain(other);
  });

  it.each([
    ['a tab', ['a:', '\tb: 1'], '2:1 tabs cannot indent; use spaces'],
    ['a tab after spaces', ['a:', '  b: 1', '  \tc: 1'], '3:3 tabs cannot indent; use spaces'],
    ['no colon', ['a:', '  b 1', '  c: 2'], '2:3 a ":" is missing after the key'],
    ['no colon on the last line', ['a:', '  b: 1', '  c 2'], '3:3 a ":" is missing after the key'],
    ['no colon before what is below', ['a:', '  b', '    c: 1'], '2:3 a ":" is missing after the key'],
    ['no colon on a line between', ['a:', '  b: 1', '  c', '  d: 1'], '3:3 a ":" is missing after the key'],
    ['no space after a colon', ['a:', '  b:1', '  c: 2'], '2:3 a space is missing after the ":"'],
    ['no space on the last line', ['a:', '  b: 1', '  c:2'], '3:3 a space is missing after the ":"'],
    ['no space before a quote', ['a:', '  b:"1"', '  c: 2'], '2:3 a space is missing after the ":"'],
    ['an open quote', ['a:', '  b: "x', '  c: 1'], '2:6 this quote is not closed'],
    ['an open single quote', ['a:', "  b: 'x", '  c: 1'], '2:6 this quote is not closed'],
    [
      'an open quote before other quotes',
      ['a:', '  b: "x', '  c: "y"', '  d: 1'],
      '2:6 this quote is not closed',
    ],
    ['an open [', ['a:', '  b: [x', '  c: 1'], '2:6 this [ is not closed'],
    ['an open {', ['a:', '  b: { x: 1', '  c: { x: 1 }'], '2:6 this { is not closed'],
    ['an open [ at the end', ['a:', '  b: [x'], '2:6 this [ is not closed'],
    [
      'two keys on one line',
      ['a: b: c', 'd: 1'],
      '1:4 two keys on one line; put a value that holds ": " in quotes',
    ],
  ])('with %s', (_, lines, problem) => {
    expect(problemOf(...lines)).toBe(problem);
  });

  it('with line ends of Windows', () => {
    expect(problemOf('source:\r', '  connector: a\r', '   baseUrl: b\r')).toMatch(/^3:4 /);
    expect(problemOf('a:\r', '  b: "x\r', '  c: 1\r')).toMatch(/^2:6 /);
  });
});
