import { analyticsRead } from './analytics-read/connector.ts';

/** Every connector, by the name that `source.connector` gives it. */
export const connectors = { 'analytics-read': analyticsRead } as const;
