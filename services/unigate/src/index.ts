export { launchMesh, type Mesh, type MeshOptions } from "./launch-mesh.ts";
export { callerTable } from "./mesh/caller-table.ts";
export { type ServiceName, serviceNames } from "./module.ts";
