export { launchMesh, type Mesh, type MeshOptions } from "./launch-mesh.ts";
export { type ServiceName, serviceNames } from "./module.ts";
