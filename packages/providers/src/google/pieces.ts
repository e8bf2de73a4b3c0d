import { isObject, type JsonObject } from "@unigate/core";
import { listOf, objectOf, stringOf } from "../chat/json-value.ts";
import { addPartialArgs } from "./partial-args.ts";

/** What a part of a candidate says, for the client. */
export type Piece =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "thought"; readonly text: string }
  | { readonly kind: "media"; readonly url: string }
  | { readonly kind: "call"; readonly call: JsonObject; readonly signature: string };

/** Takes a candidate's parts in order. Calls whose arguments are streamed come out once they are whole. */
export interface PieceReader {
  read(candidate: JsonObject): Piece[];
  /** A call that was still open when the candidate ended. */
  rest(): Piece[];
  /** The last signature on a text: worth sending back, never demanded. */
  textSignature(): string;
}

/** A reader for one candidate of one response. */
export function createPieceReader(): PieceReader {
  let open: { call: JsonObject; args: JsonObject; signature: string } | null = null;
  let textSignature = "";

  function close(): Piece[] {
    if (open === null) return [];
    const piece: Piece = { kind: "call", call: { ...open.call, args: open.args }, signature: open.signature };
    open = null;
    return [piece];
  }

  function readCall(call: JsonObject, signature: string): Piece[] {
    const partial = call["partialArgs"] !== undefined || call["willContinue"] === true;
    if (stringOf(call["name"]) !== "") {
      const before = close();
      if (!partial) return [...before, { kind: "call", call, signature }];
      open = { call, args: {}, signature };
      addPartialArgs(open.args, call["partialArgs"]);
      return before;
    }
    if (open === null) return [];
    addPartialArgs(open.args, call["partialArgs"]);
    return call["willContinue"] === true ? [] : close();
  }

  function readPart(part: JsonObject): Piece[] {
    const signature = stringOf(part["thoughtSignature"]);
    if (isObject(part["functionCall"])) return readCall(part["functionCall"], signature);
    if (typeof part["text"] === "string") {
      if (part["thought"] !== true && signature !== "") textSignature = signature;
      if (part["text"] === "") return [];
      return [{ kind: part["thought"] === true ? "thought" : "text", text: part["text"] }];
    }
    const media = objectOf(part["inlineData"]);
    if (typeof media["data"] !== "string" || part["thought"] === true) return [];
    return [{ kind: "media", url: `data:${stringOf(media["mimeType"])};base64,${media["data"]}` }];
  }

  return {
    read(candidate) {
      const pieces: Piece[] = [];
      for (const part of listOf(objectOf(candidate["content"])["parts"])) if (isObject(part)) pieces.push(...readPart(part));
      return pieces;
    },
    rest: close,
    textSignature: () => textSignature,
  };
}
