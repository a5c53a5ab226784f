import { parseAirbyteCatalog } from '../../clients/airbyte-catalog.ts';
import { parseAirbyteState } from '../../clients/airbyte-state.ts';
import { answerAirbyte } from '../clients/answer-airbyte.ts';
import { readJsonFile } from '../clients/json-file.ts';
import { openConnection } from '../clients/open-connection.ts';
import { serveAirbyte } from '../clients/serve-airbyte.ts';
import { defineCommand } from '../frame/command.ts';
import { textOption } from '../options/option-kinds.ts';
import { usageError } from '../options/usage-error.ts';

const group = 'Airbyte:';

/** One read. */
export const airbyteReadCommand = defineCommand({
  description:
    'Runs a sync, and then sends the rows that changed since the state, each key once, in Airbyte’s protocol. A spent ' +
    'quota is not a failure: what is there is sent, and the next read continues.',
  options: {
    catalog: textOption({
      flag: 'catalog',
      valueName: 'file',
      summary: 'The configured catalog: streams to read',
      group,
      example: 'catalog.json',
    }),
    state: textOption({
      flag: 'state',
      valueName: 'file',
      summary: 'The state of the last read; without it, all rows are sent',
      group,
      example: 'state.json',
    }),
  },
  examples: [
    [
      'source-sluice read --config connection.json --catalog catalog.json --state state.json',
      'As Airbyte runs it',
    ],
  ],
  run(context, { values, globals }) {
    return answerAirbyte(context, async (lines) => {
      if (values.catalog === undefined)
        throw usageError('--catalog is missing', 'Name the file with the streams to read.');
      const connection = await openConnection(context, globals);
      const wanted = parseAirbyteCatalog(readJsonFile(context, 'catalog', values.catalog));
      const state = parseAirbyteState(
        values.state === undefined ? undefined : readJsonFile(context, 'state', values.state),
      );
      return serveAirbyte(context, globals, lines, { connection, wanted, state });
    });
  },
});
