import { weatherSuite } from "./weather.ts";

weatherSuite({ mode: "single", engines: ["redis", "postgres", "kafka"], away: ["redis", "postgres", "kafka"] });
