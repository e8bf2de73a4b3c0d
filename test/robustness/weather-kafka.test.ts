import { weatherSuite } from "./weather.ts";

weatherSuite({ mode: "mesh", engines: ["postgres", "kafka"], away: ["kafka"] });
