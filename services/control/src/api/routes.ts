import { createKey } from "./api-keys/create.ts";
import { deleteKey, getKey, listKeys } from "./api-keys/read.ts";
import { rotateKey } from "./api-keys/rotate.ts";
import { updateKey } from "./api-keys/update.ts";
import type { Endpoint } from "./asked.ts";
import { deleteConfig, getConfig, listConfigs, listConfigVersions } from "./configs/read.ts";
import { createConfig, updateConfig } from "./configs/save.ts";
import { deleteGuardrail, getGuardrail, listGuardrails } from "./guardrails/read.ts";
import { createGuardrail, updateGuardrail } from "./guardrails/save.ts";
import { deleteModels, listModels, updateModels } from "./integrations/models.ts";
import { deleteIntegration, getIntegration, listIntegrations } from "./integrations/read.ts";
import { createIntegration, updateIntegration } from "./integrations/save.ts";
import { listAccess, updateAccess } from "./integrations/workspaces.ts";
import type { ApiRoute, Method } from "./match-route.ts";
import { createOrganisation, deleteOrganisation, getOrganisation, listOrganisations, updateOrganisation } from "./organisations.ts";
import { deleteProvider, getProvider, getVirtualKey, listProviders, listVirtualKeys } from "./providers/read.ts";
import { createProvider, updateProvider } from "./providers/save.ts";
import { createVirtualKey, updateVirtualKey } from "./providers/virtual-keys.ts";
import { archivePolicy, getPolicy, listPolicies } from "./rate-limits/read.ts";
import { createPolicy, updatePolicy } from "./rate-limits/save.ts";
import { createWorkspace, deleteWorkspace, getWorkspace, listWorkspaces, updateWorkspace } from "./workspaces.ts";

const ORGANISATION_KEYS = "organisation_service_api_keys";
const SERVICE_KEYS = "workspace_service_api_keys";
const USER_KEYS = "workspace_user_api_keys";

/** The same right for any type of key; the endpoint asks for that of the key's own type. */
function anyKey(verb: string): readonly string[] {
  return [ORGANISATION_KEYS, SERVICE_KEYS, USER_KEYS].map((family) => `${family}.${verb}`);
}

/** A right over things of the organisation or of a workspace; the endpoint asks for that of the thing's own place. */
function either(family: string, verb: string): readonly string[] {
  return [`organisation_${family}.${verb}`, `workspace_${family}.${verb}`];
}

/** Workspaces are served under two paths (DESIGN 8.13). */
function workspaces(method: Method, below: string, verb: string, endpoint: Endpoint): ApiRoute[] {
  return ["/workspaces", "/admin/workspaces"].map((path) => ({ method, path: path + below, scopes: [`workspaces.${verb}`], endpoint }));
}

/** Every endpoint of the management API (behaviour 9.2), with the scopes of which one is needed (behaviour 10.4). */
export const apiRoutes: readonly ApiRoute[] = [
  {
    method: "POST",
    path: "/api-keys/organisation/service",
    scopes: [`${ORGANISATION_KEYS}.create`],
    endpoint: createKey("organisation-service"),
  },
  { method: "POST", path: "/api-keys/workspace/service", scopes: [`${SERVICE_KEYS}.create`], endpoint: createKey("workspace-service") },
  { method: "POST", path: "/api-keys/workspace/user", scopes: [`${USER_KEYS}.create`], endpoint: createKey("workspace-user") },
  { method: "GET", path: "/api-keys", scopes: anyKey("list"), endpoint: listKeys },
  { method: "GET", path: "/api-keys/{id}", scopes: anyKey("read"), endpoint: getKey },
  { method: "PUT", path: "/api-keys/{id}", scopes: anyKey("update"), endpoint: updateKey },
  { method: "DELETE", path: "/api-keys/{id}", scopes: anyKey("delete"), endpoint: deleteKey },
  { method: "POST", path: "/api-keys/{id}/rotate", scopes: anyKey("rotate"), endpoint: rotateKey },

  { method: "POST", path: "/configs", scopes: ["configs.create"], endpoint: createConfig },
  { method: "GET", path: "/configs", scopes: ["configs.list"], endpoint: listConfigs },
  { method: "GET", path: "/configs/{slug}", scopes: ["configs.read"], endpoint: getConfig },
  { method: "PUT", path: "/configs/{slug}", scopes: ["configs.update"], endpoint: updateConfig },
  { method: "DELETE", path: "/configs/{slug}", scopes: ["configs.delete"], endpoint: deleteConfig },
  { method: "GET", path: "/configs/{slug}/versions", scopes: ["configs.read"], endpoint: listConfigVersions },

  { method: "POST", path: "/virtual-keys", scopes: ["virtual_keys.create"], endpoint: createVirtualKey },
  { method: "GET", path: "/virtual-keys", scopes: ["virtual_keys.list"], endpoint: listVirtualKeys },
  { method: "GET", path: "/virtual-keys/{slug}", scopes: ["virtual_keys.read"], endpoint: getVirtualKey },
  { method: "PUT", path: "/virtual-keys/{slug}", scopes: ["virtual_keys.update"], endpoint: updateVirtualKey },
  { method: "DELETE", path: "/virtual-keys/{slug}", scopes: ["virtual_keys.delete"], endpoint: deleteProvider },

  { method: "POST", path: "/integrations", scopes: either("integrations", "create"), endpoint: createIntegration },
  { method: "GET", path: "/integrations", scopes: either("integrations", "list"), endpoint: listIntegrations },
  { method: "GET", path: "/integrations/{slug}", scopes: either("integrations", "read"), endpoint: getIntegration },
  { method: "PUT", path: "/integrations/{slug}", scopes: either("integrations", "update"), endpoint: updateIntegration },
  { method: "DELETE", path: "/integrations/{slug}", scopes: either("integrations", "delete"), endpoint: deleteIntegration },
  { method: "GET", path: "/integrations/{slug}/models", scopes: either("integrations", "read"), endpoint: listModels },
  { method: "PUT", path: "/integrations/{slug}/models", scopes: either("integrations", "update"), endpoint: updateModels },
  { method: "DELETE", path: "/integrations/{slug}/models", scopes: either("integrations", "update"), endpoint: deleteModels },
  { method: "GET", path: "/integrations/{slug}/workspaces", scopes: either("integrations", "read"), endpoint: listAccess },
  { method: "PUT", path: "/integrations/{slug}/workspaces", scopes: either("integrations", "update"), endpoint: updateAccess },

  { method: "POST", path: "/providers", scopes: ["providers.create"], endpoint: createProvider },
  { method: "GET", path: "/providers", scopes: ["providers.list"], endpoint: listProviders },
  { method: "GET", path: "/providers/{slug}", scopes: ["providers.read"], endpoint: getProvider },
  { method: "PUT", path: "/providers/{slug}", scopes: ["providers.update"], endpoint: updateProvider },
  { method: "DELETE", path: "/providers/{slug}", scopes: ["providers.delete"], endpoint: deleteProvider },

  { method: "POST", path: "/guardrails", scopes: ["guardrails.create", "organisation_guardrails.create"], endpoint: createGuardrail },
  { method: "GET", path: "/guardrails", scopes: ["guardrails.list", "organisation_guardrails.list"], endpoint: listGuardrails },
  { method: "GET", path: "/guardrails/{id}", scopes: ["guardrails.read", "organisation_guardrails.read"], endpoint: getGuardrail },
  { method: "PUT", path: "/guardrails/{id}", scopes: ["guardrails.update", "organisation_guardrails.update"], endpoint: updateGuardrail },
  {
    method: "DELETE",
    path: "/guardrails/{id}",
    scopes: ["guardrails.delete", "organisation_guardrails.delete"],
    endpoint: deleteGuardrail,
  },

  { method: "POST", path: "/policies/rate-limits", scopes: ["policies.create"], endpoint: createPolicy },
  { method: "GET", path: "/policies/rate-limits", scopes: ["policies.list"], endpoint: listPolicies },
  { method: "GET", path: "/policies/rate-limits/{id}", scopes: ["policies.read"], endpoint: getPolicy },
  { method: "PUT", path: "/policies/rate-limits/{id}", scopes: ["policies.update"], endpoint: updatePolicy },
  { method: "DELETE", path: "/policies/rate-limits/{id}", scopes: ["policies.delete"], endpoint: archivePolicy },

  { method: "POST", path: "/admin/organisations", scopes: ["organisation_settings.update"], adminOnly: true, endpoint: createOrganisation },
  { method: "GET", path: "/admin/organisations", scopes: ["organisation_settings.read"], adminOnly: true, endpoint: listOrganisations },
  { method: "GET", path: "/admin/organisations/{id}", scopes: ["organisation_settings.read"], adminOnly: true, endpoint: getOrganisation },
  {
    method: "PUT",
    path: "/admin/organisations/{id}",
    scopes: ["organisation_settings.update"],
    adminOnly: true,
    endpoint: updateOrganisation,
  },
  {
    method: "DELETE",
    path: "/admin/organisations/{id}",
    scopes: ["organisation_settings.update"],
    adminOnly: true,
    endpoint: deleteOrganisation,
  },

  ...workspaces("POST", "", "create", createWorkspace),
  ...workspaces("GET", "", "list", listWorkspaces),
  ...workspaces("GET", "/{id}", "read", getWorkspace),
  ...workspaces("PUT", "/{id}", "update", updateWorkspace),
  ...workspaces("DELETE", "/{id}", "delete", deleteWorkspace),
];
