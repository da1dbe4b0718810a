/** What is known about the failure of an attempt besides its status. */

/** Failures of messages that are larger than the client may send. The server has not seen them. */
const oversized = /* @__PURE__ */ new WeakSet<object>()

export function setOversized(failure: Error): void {
	oversized.add(failure)
}

export const isOversized = (failure: unknown): boolean => failure instanceof Error && oversized.has(failure)

/** The connection of an attempt was lost while it was in flight. */
export interface LostConnection {
	/** The address of the server. */
	readonly peer: string
	/** The number of the attempt among all attempts of the interceptor, from 1. */
	readonly attempt: number
}

/** Lost connections by failure. Each attempt of a hedged call has its own failure. */
const lostConnections = /* @__PURE__ */ new WeakMap<object, LostConnection>()

export function setLostConnection(failure: Error, lost: LostConnection): void {
	lostConnections.set(failure, lost)
}

export const lostConnectionOf = (failure: unknown): LostConnection | undefined =>
	failure instanceof Error ? lostConnections.get(failure) : undefined
