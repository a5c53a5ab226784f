import { commands, type CommandEntry } from '../src/cli/commands.ts';
import { globalOptions } from '../src/cli/options/global-options.ts';
import { nameTwin, type Option } from '../src/cli/options/option.ts';

const HEAD = `# Commands

Written by \`npm run docs\` from what the command line itself prints; \`sluice help sync\` shows the same in a terminal.
Each option has a twin in the environment, named next to it; the option wins where both are given. Exit codes and
what to do about them: [errors.md](errors.md). Config keys: [configuration.md](configuration.md).
Results go to stdout, logs and progress to stderr. \`--json\` prints one object: \`command\`, \`ok\`, \`exitCode\`,
\`summary\`, \`result\`, \`error\`. Commands that can be limited to streams take their names as words (\`sluice verify items mentions\`) or by \`--streams\`.
`;

/** The page \`docs/commands.md\`: every command with its options and examples. */
export async function writeCommandsPage(): Promise<string> {
  const sections = await Promise.all(commands.map(describeCommand));
  const shared = `## Options of every command\n\n${tabulate(Object.values(globalOptions))}\n`;
  return `${[HEAD, ...sections, shared].join('\n').trimEnd()}\n`;
}

async function describeCommand({ name, summary, load }: CommandEntry): Promise<string> {
  const { description, argument, options, examples } = await load();
  const word =
    argument === undefined ? '' : argument.required ? ` <${argument.name}>` : ` [${argument.name}]`;
  const lines = examples.map(([line, does]) => `# ${does}\n${line}`).join('\n');
  return [
    `## sluice ${name}`,
    `${summary}.`,
    escapeCell(description),
    argument === undefined ? '' : `\`${name}${word}\`: ${escapeCell(argument.summary)}.`,
    options.length === 0 ? '' : tabulate(options),
    `\`\`\`sh\n${lines}\n\`\`\`\n`,
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function tabulate(options: readonly Option<unknown>[]): string {
  const rows = options.map((option) => {
    const value = option.takesValue ? ` <${option.valueName ?? 'value'}>` : '';
    const alias = option.alias === undefined ? '' : `\`-${option.alias}\`, `;
    return `| ${alias}\`--${option.flag}${value}\` | \`${nameTwin(option.flag)}\` | ${escapeCell(option.summary)} |`;
  });
  return ['| option | environment | does |', '| --- | --- | --- |', ...rows].join('\n');
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '\\<');
}
