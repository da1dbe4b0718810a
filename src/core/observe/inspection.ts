import type { Policy } from '../engine/policy.ts'
import type { LintFinding } from '../lint/finding.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { type Observable, type Observation, observationOf } from './observation.ts'

/** A client, interceptor or engine that consists of policies. `lint` and `skipDelays` accept it. */
export interface Inspectable extends Observable {
	'~observable'(): { readonly inspection: object }
}

export interface InspectableObservation extends Observation {
	readonly inspection: Inspection
}

/** How a client is configured. */
export interface Inspection {
	readonly name: string
	/** Returns the policies of a request as the options define them. They are not in use. */
	sample(): Sample
	/** Returns probable mistakes in options that are not about policies. */
	findings?(): readonly LintFinding[]
	/** Returns a finding in the terms of the client's options; undefined if it does not apply. */
	adaptFinding?(finding: LintFinding): LintFinding | undefined
	readonly runtime?: Runtime
	/** Returns a client with the same options and another runtime. */
	readonly withRuntime?: ((runtime: Runtime) => unknown) | undefined
}

/**
 * The policies of a request, outermost first. Its timeouts are not among them: they are part of the client's
 * attempts.
 */
interface Sample {
	readonly policies: readonly Policy<unknown>[]
	/** The limit around all policies. Infinity: none. */
	readonly totalTimeoutMs: number
	/** The limit of each attempt. Infinity: none. */
	readonly timeoutMs: number
}

/** Returns how a client is configured; undefined for anything else, also for policies. */
export const inspectionOf = (thing: unknown): Inspection | undefined =>
	(observationOf(thing) as InspectableObservation | undefined)?.inspection
