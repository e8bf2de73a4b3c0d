import type { Call } from "@unigate/core";
import { cancelledError } from "../errors.ts";
import { decodeMessage, encodeMessage } from "../message-size.ts";
import type { Method } from "../method.ts";
import { type Feed, NO_FEED, PulledStream } from "../pulled-stream.ts";
import { refusal } from "../refusal.ts";
import { isEndMark } from "./end-mark.ts";
import { cancelTransport, createTransport, failureOfStatus, headersOf, ignoreHeaders, type Link } from "./link.ts";
import { RequestPump } from "./request-pump.ts";
import { OK } from "./status.ts";

/** A stream of answers to one request or to a stream of them. The call is made when the first answer is asked for. */
export function streamAnswers(link: Link, method: Method, request: unknown, call: Call): PulledStream<unknown> {
  return new PulledStream((answers) => {
    try {
      return start(link, method, request, call, answers);
    } catch (error) {
      answers.fail(error);
      return NO_FEED;
    }
  });
}

function start(link: Link, method: Method, request: unknown, call: Call, answers: PulledStream<unknown>): Feed {
  const refused = refusal(call);
  if (refused !== null) throw refused;
  const bytes = method.requestStream ? null : encodeMessage(method, method.request, request, link.maxBytes);
  const headers = headersOf(link, method, call);
  const transport = createTransport(link, method, call);
  const pump = bytes === null ? new RequestPump(link, method, transport, giveUp) : null;
  let over = false;
  const unlink = call.cancel.onCancel((reason) => giveUp(cancelledError(reason)));

  function end(): boolean {
    if (over) return false;
    over = true;
    unlink();
    pump?.stop();
    return true;
  }

  function giveUp(error: unknown): void {
    if (!end()) return;
    answers.fail(error);
    cancelTransport(transport);
  }

  transport.start(headers, {
    onReceiveMetadata: ignoreHeaders,
    onReceiveMessage(message: Buffer) {
      if (over) return;
      if (pump !== null && isEndMark(message)) {
        pump.answered();
        return transport.startRead();
      }
      try {
        answers.deliver(decodeMessage(method, method.response, message));
      } catch (error) {
        giveUp(error);
      }
    },
    onReceiveStatus(status) {
      if (!end()) return;
      if (status.code === OK) answers.finish();
      else answers.fail(failureOfStatus(status, call));
    },
  });
  if (pump !== null) {
    void pump.run(request as AsyncIterable<unknown>);
  } else if (bytes !== null) {
    transport.sendMessageWithContext({}, bytes);
    transport.halfClose();
  }
  return {
    pull: () => transport.startRead(),
    stop() {
      if (end()) cancelTransport(transport);
    },
  };
}
