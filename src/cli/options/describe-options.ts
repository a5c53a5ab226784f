import { wrapText } from '../../render/wrap-text.ts';
import type { Option } from './option.ts';

/** What a line of `--help` says about an option. */
export type ShownOption = Pick<Option<unknown>, 'flag' | 'alias' | 'valueName' | 'summary' | 'group'>;

const LEAST_ROOM = 30;

/** The options of `--help` under their headings, each with the name of its value. */
export function describeOptions(options: readonly ShownOption[], columns: number): string {
  const groups = new Map<string, ShownOption[]>();
  for (const option of options) groups.set(option.group, [...(groups.get(option.group) ?? []), option]);
  return [...groups]
    .map(([heading, members]) => `${heading}\n${describeGroup(members, columns)}`)
    .join('\n\n');
}

function describeGroup(options: readonly ShownOption[], columns: number): string {
  const names = options.map(writeName);
  const width = Math.max(...names.map((name) => name.length)) + 2;
  return options
    .map(({ summary }, i) => {
      const name = names[i] ?? '';
      // On a narrow terminal there is no room for a sentence next to the name.
      return columns - width < LEAST_ROOM
        ? `${name}\n${wrapText(`        ${summary}`, columns, 8)}`
        : wrapText(`${name.padEnd(width)}${summary}`, columns, width);
    })
    .join('\n');
}

function writeName({ flag, alias, valueName }: ShownOption): string {
  const short = alias === undefined ? '    ' : ` -${alias},`;
  return ` ${short} --${flag}${valueName === undefined ? '' : ` <${valueName}>`}`;
}
