import { weatherSuite } from "./weather.ts";

// Without Kafka: what logging cannot take waits in the edge's spool.
weatherSuite({ mode: "mesh", engines: ["redis", "postgres"], away: ["redis", "postgres", "control", "logging"] });
