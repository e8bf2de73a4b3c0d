import { StoreLostError } from "@unigate/storage";

/** What an operation gives, or `instead` while the store is lost: its owner knows and tells, not every request. */
export async function whileLost<T>(operation: Promise<T>, instead: T): Promise<T> {
  try {
    return await operation;
  } catch (error) {
    if (error instanceof StoreLostError) return instead;
    throw error;
  }
}
