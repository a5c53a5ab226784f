/** Whether a host name, of a URL or by itself, is this machine's own. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|\[::1\]|::1|127(\.\d{1,3}){3})$/.test(hostname);
}
