/** Failures of messages that are larger than the client may send. No attempt can send them, and the server has not seen them. */
const oversized = /* @__PURE__ */ new WeakSet<object>()

export function setOversized(failure: Error): void {
	oversized.add(failure)
}

export const isOversized = (failure: unknown): boolean => failure instanceof Error && oversized.has(failure)
