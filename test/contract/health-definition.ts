interface HealthRequest {
  service: string;
}

interface HealthReply {
  status: "UNKNOWN" | "SERVING" | "NOT_SERVING" | "SERVICE_UNKNOWN";
}

const STATUSES = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"] as const;

/** Field 1 is a short text. */
const HealthRequest = {
  encode: ({ service }: HealthRequest) => ({
    finish: () => (service === "" ? Buffer.alloc(0) : Buffer.concat([Buffer.from([0x0a, service.length]), Buffer.from(service)])),
  }),
  decode: (bytes: Uint8Array): HealthRequest => ({ service: Buffer.from(bytes.subarray(2)).toString() }),
};

/** Field 1 is an enum; zero is left out. */
const HealthReply = {
  encode: ({ status }: HealthReply) => ({ finish: () => Buffer.from([0x08, STATUSES.indexOf(status)]) }),
  decode: (bytes: Uint8Array): HealthReply => ({ status: STATUSES[bytes[1] ?? 0] ?? "UNKNOWN" }),
};

function method<const Stream extends boolean>(name: string, responseStream: Stream) {
  return { name, requestType: HealthRequest, requestStream: false, responseType: HealthReply, responseStream } as const;
}

/** grpc.health.v1, by hand: enough of it to ask and to watch. */
export const HealthDefinition = {
  name: "Health",
  fullName: "grpc.health.v1.Health",
  methods: { check: method("Check", false), watch: method("Watch", true) },
} as const;
