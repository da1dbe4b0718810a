import type { CallOptions } from '../../core/engine/call-options.ts'

/** What the user's function has thrown. */
export class ThrownByHook {
	readonly error: unknown

	constructor(error: unknown) {
		this.error = error
	}
}

/** Returns the call or request around, or what the user's function has thrown. */
export function readContext(
	getContext: () => CallOptions | undefined,
): CallOptions | ThrownByHook | undefined {
	try {
		return getContext()
	} catch (error) {
		return new ThrownByHook(error)
	}
}
