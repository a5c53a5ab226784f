/** A message without the stream's name in front, for a place that already names the stream. */
export function withoutName(message: string, stream: string): string {
  const rest = readRest(message, stream);
  return rest === undefined ? message : moveBrackets(rest.replace(/^[:,]? /, ''));
}

/** The same for who asks for first pages only: their offset adds nothing, and would make equal errors look different. */
export function withoutFirstOffset(message: string): string {
  return moveBrackets(message.replace(/^(at )?offset 0(: | (?=\())/, ''));
}

/** No sentence begins with a place in brackets. */
function moveBrackets(message: string): string {
  return message.replace(/^(\([^()]*\)): ([^\n]*)/, '$2 $1');
}

/** A message after the stream's name, which is not repeated if the message begins with it. */
export function withName(message: string, stream: string): string {
  return beginsWithName(message, stream) ? message : `${stream}: ${message}`;
}

/** `stream failed: message`, without a second name: `stream failed at offset 300: …`. */
export function describeEnd(subject: string, verb: string, message: string): string {
  const rest = readRest(message, subject);
  if (rest !== undefined) return `${subject} ${verb}${rest.replace(/^, offset /, ' at offset ')}`;
  if (message.startsWith(`${verb} `)) return `${subject} ${message}`;
  return beginsWithName(message, subject) ? `${verb}: ${message}` : `${subject} ${verb}: ${message}`;
}

/** The message without its first words, where they only say what was said already: `items, offset 300`. */
export function withoutPlace(message: string, place: string): string {
  return message.startsWith(`${place}: `) ? message.slice(place.length + 2) : message;
}

function beginsWithName(message: string, name: string): boolean {
  return message.startsWith(name) && !/^\w/.test(message.slice(name.length));
}

/**
 * What follows the name if it only says where it happened: `: …`, `, offset 300: …`, ` (/path, status 200):
 * …`.
 */
function readRest(message: string, name: string): string | undefined {
  const rest = message.startsWith(name) ? message.slice(name.length) : '';
  return /^(: |, offset \d| at offset \d| \()/.test(rest) ? rest : undefined;
}
