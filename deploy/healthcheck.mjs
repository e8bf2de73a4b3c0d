// Ends with 0 when the process of this container answers /healthz: on the metrics port where services run apart, else on
// the port of the HTTP front.
const ports = [process.env.UNIGATE_METRICS_PORT || "9090", process.env.PORT || "8080"];

async function answers(port) {
  try {
    return (await fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    return false;
  }
}

const found = await Promise.all(ports.map(answers));
process.exit(found.includes(true) ? 0 : 1);
