import type { LabelledCount, Metrics } from "@unigate/runtime";
import type { RouteKind } from "./routes.ts";

/** What served a request; "none" when it was refused before a route was found. */
export type AnsweredBy = RouteKind | "none";

/** What became of a hedge: a second target was started, it won, or why none was started. */
export type HedgeEvent = "started" | "second_won" | "over_budget" | "too_few_samples" | "not_replayable" | "may_deny";

/** What the edge counts. Labels never hold a user's text. */
export interface EdgeMetrics {
  requestAnswered(by: AnsweredBy, status: number): void;
  /** A request passed limits that could not be counted, because policy was not there. */
  limitsUncounted(): void;
  hedged(event: HedgeEvent): void;
}

type RequestLabel = "surface" | "class";

export function createEdgeMetrics(
  metrics: Metrics,
  read: {
    inflight(): number;
    bodyBytes(): number;
    settlementsDropped(): number;
    leasesHeld(): number;
    leasesLost(): number;
    outcomesDropped(): number;
    backgroundDropped(): number;
  },
): EdgeMetrics {
  metrics.gauge("unigate_requests_inflight", "requests being answered", read.inflight);
  metrics.gauge("unigate_edge_body_bytes", "request bodies held in memory, bytes", read.bodyBytes);
  metrics.gauge("unigate_edge_settlements_dropped", "settlements dropped because too many were waiting", read.settlementsDropped);
  metrics.gauge("unigate_edge_leases", "reservations of running requests that are kept", read.leasesHeld);
  metrics.gauge("unigate_edge_leases_lost", "reservations that ended while their requests ran", read.leasesLost);
  metrics.gauge("unigate_edge_outcomes_dropped", "outcomes of attempts that did not reach the router", read.outcomesDropped);
  const uncounted = metrics.counter("unigate_edge_limits_uncounted_total", "requests that passed their limits while policy was not there");
  const hedges = metrics.counter("unigate_edge_hedges_total", "hedged requests, by what became of the second target", ["event"]);
  metrics.gauge("unigate_edge_background_dropped", "asynchronous hooks dropped because too many were waiting", read.backgroundDropped);

  /** Counted in plain numbers by status class (index 2 = 2xx): a labelled counter costs a microsecond a request. */
  const answered = new Map<AnsweredBy, number[]>();
  metrics.counts<RequestLabel>("unigate_requests_total", "requests answered, by surface and status class", ["surface", "class"], () =>
    labelled(answered),
  );
  return {
    limitsUncounted: () => uncounted.inc(),
    hedged: (event) => hedges.inc({ event }),
    requestAnswered(by, status) {
      let classes = answered.get(by);
      if (classes === undefined) answered.set(by, (classes = [0, 0, 0, 0, 0, 0]));
      const digit = Math.trunc(status / 100);
      classes[digit] = (classes[digit] ?? 0) + 1;
    },
  };
}

function* labelled(answered: ReadonlyMap<AnsweredBy, readonly number[]>): Generator<LabelledCount<RequestLabel>> {
  for (const [surface, classes] of answered)
    for (const [digit, count] of classes.entries()) if (count > 0) yield { labels: { surface, class: `${digit}xx` }, count };
}
