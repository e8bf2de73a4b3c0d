/** The moments of a fault are what a run is about: it waits for no condition. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
