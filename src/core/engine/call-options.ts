import type { Deadline } from '../deadline/deadline.ts'

/** What belongs to one call, the same for every policy. */
export interface CallOptions {
	/** The caller's own abort. It ends a wait at once and reaches the work through its context. */
	readonly signal?: AbortSignal | undefined
	/** By when an answer is worth having. */
	readonly deadline?: Deadline | undefined
	/** What the call is called in events and in `explain`. */
	readonly name?: string | undefined
	/** Which of several the call is about, such as a host or a tenant. Told in events. */
	readonly key?: string | undefined
	/** May the work be done twice? Told to the policies that might. */
	readonly idempotent?: boolean | undefined
}
