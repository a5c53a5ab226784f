const property = (order: number, title: string, description: string, more: object = {}) => ({
  type: 'string',
  order,
  title,
  description,
  ...more,
});

/** The keys of a connection as JSON Schema, for the forms of platforms. */
export const connectionSpecification = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Sluice',
  type: 'object',
  additionalProperties: true,
  properties: {
    config_path: property(
      0,
      'Config file',
      'Absolute path of a sluice.yaml. All settings come from it: with it, set only account, streams, max_wait and deadline here.',
      { examples: ['/srv/sluice/sluice.yaml'] },
    ),
    account: property(1, 'Account', 'Name of one account, if that file has several.'),
    base_url: property(2, 'Base URL', 'Base URL of the API, with its version.', {
      examples: ['https://analytics.example.com/api/v1'],
    }),
    api_key: property(3, 'API key', 'Sent to the API and nowhere else.', { airbyte_secret: true }),
    folder: property(
      4,
      'Folder',
      'Absolute path of a folder that stays between reads: it gets the state and warehouse.duckdb. It is made if its parent exists.',
      { examples: ['/data/sluice'] },
    ),
    connector: property(5, 'Connector', 'The description of the API.', { default: 'analytics-read' }),
    deletes: property(6, 'Deletes', 'What happens to rows that left the API; keep sends no deletes.', {
      enum: ['keep', 'soft', 'hard'],
      default: 'keep',
    }),
    requests_per_hour: {
      type: 'integer',
      minimum: 1,
      order: 7,
      title: 'Requests per hour',
      description: 'A ceiling below the quota of the key.',
    },
    streams: {
      type: 'array',
      items: { type: 'string' },
      order: 8,
      title: 'Streams',
      description: 'Names of streams; all of them when left out.',
    },
    max_wait: property(
      9,
      'Wait for the quota',
      'How long a read waits for the quota, e.g. 30m. By default it sends what is there, and the next read continues.',
      { default: '0' },
    ),
    deadline: property(10, 'Deadline', 'Ends the reading of the API after this time, e.g. 50m.'),
  },
} as const;
