import { inspect } from "node:util";

/** A text that cannot be printed: string conversion, JSON and inspection all give "[secret]". */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The text itself. Only code that puts it on the wire or hashes it may call this. */
  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return "[secret]";
  }

  toJSON(): string {
    return "[secret]";
  }

  [inspect.custom](): string {
    return "[secret]";
  }
}

/** Credentials by config field name: `api_key`, `cloud_secret_access_key`. */
export type Credentials = Readonly<Record<string, Secret>>;
