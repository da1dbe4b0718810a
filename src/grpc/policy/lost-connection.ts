/** The connection of an attempt was lost while it was in flight. */
export interface LostConnection {
	/** The address of the server. */
	readonly peer: string
	/** The number of the attempt among all of the interceptor, from 1. */
	readonly attempt: number
}

/** The failed attempts of which the connection was lost. Each attempt has its own entry: a hedged call may lose several connections. */
const lostConnections = /* @__PURE__ */ new WeakMap<object, LostConnection>()

export function setLostConnection(failure: Error, lost: LostConnection): void {
	lostConnections.set(failure, lost)
}

export const lostConnectionOf = (failure: unknown): LostConnection | undefined =>
	failure instanceof Error ? lostConnections.get(failure) : undefined
