/** Which models a provider may be asked for. */
export interface ModelAccess {
  readonly enabled: readonly string[];
  readonly disabled: readonly string[];
  /** Whether a model that is in neither list may be asked for. */
  readonly others: boolean;
}

/** Whether `model` may be asked for; without any rule each may. */
export function mayUseModel(access: ModelAccess | undefined, model: string): boolean {
  if (access === undefined) return true;
  return access.others ? !access.disabled.includes(model) : access.enabled.includes(model);
}
