import { describeAirbyteStream } from '../../clients/airbyte-catalog.ts';
import { catalogMessage, logMessage } from '../../clients/airbyte-messages.ts';
import { answerAirbyte } from '../clients/answer-airbyte.ts';
import { findStreams } from '../clients/find-streams.ts';
import { openConnection } from '../clients/open-connection.ts';
import { defineCommand } from '../frame/command.ts';

/** What a connection can read. */
export const airbyteDiscoverCommand = defineCommand({
  description:
    'Prints the streams with all their columns and keys, in Airbyte’s protocol. Streams that were never synced are ' +
    'synced first: their pages are kept, and only a whole scan knows every column.',
  options: {},
  examples: [['source-sluice discover --config connection.json', 'As Airbyte runs it']],
  run(context, { globals }) {
    return answerAirbyte(context, async (lines) => {
      const connection = await openConnection(context, globals);
      const { streams, missing } = await findStreams(context, globals, connection);
      for (const sentence of missing) await lines.writeJson(logMessage('WARN', sentence));
      await lines.writeJson(catalogMessage(streams.map((stream) => describeAirbyteStream(stream))));
      return 0;
    });
  },
});
