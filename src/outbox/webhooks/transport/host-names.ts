/**
 * Host names that can only be internal. They are rejected before they are resolved, so that the error names
 * the reason.
 */

/**
 * Top-level names that are never delegated in the public DNS: RFC 6761 (localhost), RFC 6762 (local, and its
 * appendix G of names for private networks), RFC 8375 (home.arpa), ICANN (internal), and the default of many
 * systems (localdomain).
 */
const INTERNAL_NAME =
	/(^|\.)(localhost|localdomain|local|internal|intranet|private|corp|home|lan|home\.arpa)$/

/** Returns a host of a URL for comparisons: without the brackets of IPv6 and the dot of an absolute name. */
export const nameOfHost = (hostname: string): string => hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')

/**
 * Returns true for a name that only an internal resolver knows. That includes names without a dot: `db` is a
 * container, a Kubernetes service, or a name that is completed with the domain of the machine.
 */
export const isInternalName = (name: string): boolean => !name.includes('.') || INTERNAL_NAME.test(name)
