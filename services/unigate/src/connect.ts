import { localPort, openChannel, type RpcChannel, type ServiceDefinition, type ServicePort } from "@unigate/rpc";
import type { Settings } from "@unigate/runtime";
import type { MeshAccess } from "./mesh/access.ts";
import type { RunningService, ServiceName } from "./module.ts";

/** Chooses local or remote for each service; nobody else can tell. */
export interface Connections {
  connect<D extends ServiceDefinition>(name: ServiceName, definition: D): ServicePort<D>;
  close(): void;
}

export function createConnections(settings: Settings, access: MeshAccess, running: ReadonlyMap<ServiceName, RunningService>): Connections {
  const channels = new Map<string, RpcChannel>();
  return {
    connect<D extends ServiceDefinition>(name: ServiceName, definition: D): ServicePort<D> {
      const local = running.get(name)?.implementation;
      if (local !== undefined && local !== null) return localPort(definition, local as ServicePort<D>);
      const address = settings.addresses[name];
      if (address === undefined) throw new Error(`${name} neither runs here nor has an address`);
      const asked = access.calling(name, address);
      // A certificate is looked at for one service.
      const key = asked.certificates === undefined ? address : `${name} ${address}`;
      let channel = channels.get(key);
      if (channel === undefined) {
        channel = openChannel({ address, bodyLimit: settings.bodyLimit, ...asked });
        channels.set(key, channel);
      }
      return channel.port(definition);
    },
    close() {
      for (const channel of channels.values()) channel.close();
    },
  };
}
