/** A message without the stream's name in front, where what it stands behind names the stream already. */
export function withoutName(message: string, stream: string): string {
  return message.startsWith(`${stream}: `) ? message.slice(stream.length + 2) : message;
}
