import { specMessage } from '../../clients/airbyte-messages.ts';
import { answerAirbyte } from '../clients/answer-airbyte.ts';
import { defineCommand } from '../frame/command.ts';

/** The keys of a connection config. */
export const airbyteSpecCommand = defineCommand({
  description:
    'Prints the keys of a connection config as JSON Schema, in Airbyte’s protocol. `source-sluice spec` is the same.',
  options: {},
  examples: [['source-sluice spec', 'As Airbyte runs it']],
  run(context) {
    context.chooseStop('quit');
    return answerAirbyte(context, async (lines) => {
      await lines.writeJson(specMessage());
      return 0;
    });
  },
});
