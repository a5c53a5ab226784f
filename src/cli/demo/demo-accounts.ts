/** Accounts of the demo, the first ones first: 2 to 9 of them. */
export const DEMO_ACCOUNTS = [
  'acme',
  'globex',
  'initech',
  'umbrella',
  'hooli',
  'soylent',
  'tyrell',
  'wonka',
  'stark',
] as const;
