/** "URI:text", with the text in quotes when it has characters that could pass for the next name. */
const NAME = /([A-Za-z0-9 ]+):("(?:[^"\\]|\\.)*"|[^",]*)(?:, |$)/y;

const SERVICE = /^spiffe:\/\/unigate\/([a-z][a-z0-9-]{0,62})$/;

/** More than there are services. */
const MAX_SERVICES = 32;

/** How a certificate names a service: "spiffe://unigate/cache", a URI among its alternative names. */
export function nameOfService(service: string): string {
  return `spiffe://unigate/${service}`;
}

/**
 * The services that a certificate is for, by its alternative names as Node writes them. Other names mean nothing; a
 * text that cannot be read to its end has none.
 */
export function meshServicesOf(subjectAltName: string | undefined): readonly string[] {
  if (subjectAltName === undefined) return [];
  const services: string[] = [];
  NAME.lastIndex = 0;
  while (NAME.lastIndex < subjectAltName.length) {
    const [, kind, text = ""] = NAME.exec(subjectAltName) ?? [];
    if (kind === undefined) return [];
    const service = kind === "URI" ? SERVICE.exec(text)?.[1] : undefined;
    if (service !== undefined && !services.includes(service)) services.push(service);
  }
  return services.slice(0, MAX_SERVICES);
}
