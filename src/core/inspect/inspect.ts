/**
 * How `lint`, telemetry and the dashboard look inside a client without importing its subpath: a client implements one
 * symbol. `Symbol.for`, because the client may come from another copy of the package.
 */
import type { Policy } from '../engine/policy.ts'

export const INSPECT: unique symbol = /* @__PURE__ */ Symbol.for('yaoki.inspect') as never

/** What a client shows of itself. */
export interface Inspection {
	readonly name: string
	/** The policy of a request as the options define it, for `lint`. It is not in use. */
	sample(): Policy<unknown>
	/** The policies in use, each with its key, such as an origin. */
	policies(): Iterable<readonly [key: string, policy: Policy<unknown>]>
	/** The same as the client's `stats`. */
	stats(): unknown
}

export interface Inspectable {
	[INSPECT](): Inspection
}

export const isInspectable = (value: unknown): value is Inspectable =>
	typeof (value as Partial<Inspectable> | null | undefined)?.[INSPECT] === 'function'
