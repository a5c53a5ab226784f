import { parseSingerCatalog, type SelectedStream } from '../../clients/singer-catalog.ts';
import { singerCatalog } from '../../clients/singer-messages.ts';
import { parseSingerState } from '../../clients/singer-state.ts';
import { selectStreams } from '../../config/select-streams.ts';
import { toOutcome } from '../clients/answer-airbyte.ts';
import { findStreams } from '../clients/find-streams.ts';
import { readJsonFile } from '../clients/json-file.ts';
import { createLineWriter } from '../clients/line-writer.ts';
import { type OpenConnection, openConnection } from '../clients/open-connection.ts';
import { serveSinger } from '../clients/serve-singer.ts';
import { defineCommand } from '../frame/command.ts';
import type { CliContext } from '../frame/context.ts';
import { flagOption, textOption } from '../options/option-kinds.ts';

const group = 'Singer:';

/** A tap. */
export const singerCommand = defineCommand({
  description:
    'Runs a sync, and then prints the rows that changed since the state as a tap of Singer, each key once. Exit code ' +
    '75: the quota is spent; rows and state are printed all the same.',
  options: {
    discover: flagOption({
      flag: 'discover',
      summary: 'Print the catalog; streams that were never synced are synced first',
      group,
    }),
    catalog: textOption({
      flag: 'catalog',
      valueName: 'file',
      summary: 'The catalog with what is selected; without it, everything is',
      group,
      example: 'catalog.json',
    }),
    properties: textOption({
      flag: 'properties',
      valueName: 'file',
      summary: 'The same, as older runners call it',
      group,
      example: 'catalog.json',
    }),
    state: textOption({
      flag: 'state',
      valueName: 'file',
      summary: 'The state of the last run; without it, all rows are sent',
      group,
      example: 'state.json',
    }),
  },
  examples: [
    ['tap-sluice --config config.json --discover > catalog.json', 'What can be selected'],
    ['tap-sluice --config config.json --catalog catalog.json --state state.json | target-jsonl', 'One run'],
  ],
  async run(context, { values, globals }) {
    const lines = createLineWriter(context);
    const connection = await openConnection(context, globals);
    if (values.discover === true) {
      const { streams, missing } = await findStreams(context, globals, connection);
      for (const sentence of missing) context.output.writeNote(`warning: ${sentence}`);
      await lines.writeJson(singerCatalog(streams));
      await lines.finish();
      return toOutcome(0);
    }
    const selected = readSelection(context, values.catalog ?? values.properties, connection);
    const state = values.state === undefined ? {} : readJsonFile(context, 'state', values.state);
    // A pipeline that keeps the last line of a target leaves an empty file after a first run that failed; so does a full disk.
    if (state === undefined)
      context.output.writeNote(`warning: the state file ${values.state} is empty: all rows are sent`);
    const { bookmarks, ignored } = parseSingerState(state);
    for (const part of ignored)
      context.output.writeNote(`warning: ${part} was not written by Sluice: rows may be sent again`);
    const exitCode = await serveSinger(context, globals, lines, { connection, selected, bookmarks });
    await lines.finish();
    return toOutcome(exitCode);
  },
});

function readSelection(
  context: CliContext,
  file: string | undefined,
  { settings, streams }: OpenConnection,
): readonly SelectedStream[] {
  if (file !== undefined) return parseSingerCatalog(readJsonFile(context, 'catalog', file));
  return selectStreams(settings, streams).map(({ name }) => ({ name, excluded: new Set<string>() }));
}
