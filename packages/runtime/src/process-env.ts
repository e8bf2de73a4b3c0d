/** The only reader of the process environment and command line. */
export function readProcess(): { readonly environment: Readonly<Record<string, string | undefined>>; readonly words: readonly string[] } {
  return { environment: process.env, words: process.argv.slice(2) };
}
