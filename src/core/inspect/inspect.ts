/**
 * How `lint`, telemetry and the dashboard look inside a client without importing its subpath: a client implements one
 * symbol. `Symbol.for`, because the client may come from another copy of the package.
 */
import type { Policy } from '../engine/policy.ts'
import type { LintFinding } from '../lint/finding.ts'
import type { Runtime } from '../runtime/runtime.ts'

export const INSPECT: unique symbol = /* @__PURE__ */ Symbol.for('yaoki.inspect') as never

/** The policies of a request, outermost first. Its timeouts are not among them: they are part of the client's attempts. */
interface Sample {
	readonly policies: readonly Policy<unknown>[]
	/** The limit around all policies. Infinity: none. */
	readonly totalTimeoutMs: number
	/** The limit of each attempt. Infinity: none. */
	readonly timeoutMs: number
}

/** What a client shows of itself. */
export interface Inspection {
	readonly name: string
	/** The policies of a request as the options define them, for `lint`. They are not in use. */
	sample(): Sample
	/** Probable mistakes in options that are not about policies. */
	findings?(): readonly LintFinding[]
	/** Returns a finding about the policies in the terms of the client's options; undefined if it does not apply. */
	adaptFinding?(finding: LintFinding): LintFinding | undefined
	/** The policies in use, each with its key, such as an origin. */
	policies(): Iterable<readonly [key: string, policy: Policy<unknown>]>
	/** The same as the client's `stats`. */
	stats(): unknown
	readonly runtime?: Runtime
	/** Returns a client with the same options and another runtime. */
	readonly withRuntime?: ((runtime: Runtime) => unknown) | undefined
}

export interface Inspectable {
	[INSPECT](): Inspection
}

export const isInspectable = (value: unknown): value is Inspectable =>
	typeof (value as Partial<Inspectable> | null | undefined)?.[INSPECT] === 'function'
