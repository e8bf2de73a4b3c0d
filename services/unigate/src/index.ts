export { type Mesh, type MeshOptions, launchMesh } from "./launch-mesh.ts";
export { type ServiceName, serviceNames } from "./module.ts";
