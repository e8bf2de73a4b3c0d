import type { Call } from "@unigate/core";
import type { BodyConsumer, Exchange, SendFailure } from "@unigate/http";
import type { LocalAnswer } from "@unigate/providers";

const RESET: SendFailure = { kind: "failed", code: "reset", bytesSent: true, cause: null };
const CANCELLED: SendFailure = { kind: "failed", code: "cancelled", bytesSent: true, cause: null };

/** A provider's own answer as an exchange, so that nothing behind it can tell that no network was used. */
export function localExchange(answer: LocalAnswer, upstreamMs: number, call: Call): Exchange {
  let paused = false;
  let wake: (() => void) | null = null;
  let cancelled = false;

  const resume = (): void => {
    paused = false;
    wake?.();
    wake = null;
  };

  async function play(consumer: BodyConsumer): Promise<void> {
    const stop = call.cancel.onCancel(() => {
      cancelled = true;
      resume();
    });
    for (const piece of answer.pieces) {
      if (piece.afterMs > 0) await new Promise((resolve) => setTimeout(resolve, piece.afterMs));
      while (paused && !cancelled) await new Promise<void>((resolve) => (wake = resolve));
      if (cancelled) break;
      consumer.onData(piece.data);
    }
    stop();
    if (cancelled) consumer.onError(CANCELLED);
    else if (answer.cut === true) consumer.onError(RESET);
    else consumer.onEnd();
  }

  async function readAll(): Promise<Buffer | SendFailure> {
    const pieces: Buffer[] = [];
    return new Promise((resolve) => {
      void play({ onData: (chunk) => pieces.push(chunk), onEnd: () => resolve(Buffer.concat(pieces)), onError: resolve });
    });
  }

  return {
    kind: "exchange",
    status: answer.status,
    headers: answer.headers,
    rawHeaders: Object.entries(answer.headers).flat(),
    upstreamMs,
    bytesSent: true,
    consume: (consumer) => void play(consumer),
    pause: () => {
      paused = true;
    },
    resume,
    readAll,
    body: {
      async *[Symbol.asyncIterator]() {
        const whole = await readAll();
        if (Buffer.isBuffer(whole)) yield whole;
      },
    },
    cancel: () => {
      cancelled = true;
      resume();
    },
  };
}
