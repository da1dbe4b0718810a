import type { Call } from '../engine/call.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { randomUuid } from '../runtime/system.ts'
import { CallFact } from '../structures/call-fact.ts'
import type { EventDetails, YaokiEvent } from './events.ts'

/** Where an event comes from. */
interface EventSource {
	readonly emitter: string
	/** The name of the pipeline, if it has one. */
	readonly pipeline: string | undefined
	/** The key that the policy serves, if it serves one. */
	readonly key: string | undefined
	readonly runtime: Runtime
}

/** The ids of calls that have emitted an event. */
export const callIds: CallFact<string> = new CallFact()

/** Returns the event with the fields that all events share. */
export function createEvent(call: Call | undefined, source: EventSource, details: EventDetails): YaokiEvent {
	const { emitter, pipeline, runtime } = source
	const { key: callKey, name, extension: { method, eventFields } = {} } = call?.options ?? {}
	const key = source.key || callKey
	return {
		...(call && { callId: callId(call), attempt: call.attempt + 1 }),
		...details,
		emitter,
		timestamp: runtime.wallNow(),
		...(pipeline !== undefined && { pipeline }),
		...eventFields,
		...(key !== undefined && { key }),
		...(name !== undefined && { call: name }),
		...(method !== undefined && { method }),
	}
}

/** Returns the id of the call. The branches of a hedge share the id of their call. */
function callId(call: Call): string {
	let whole = call
	for (let outer = call.rare?.branch; outer; outer = whole.rare?.branch) whole = outer.parent
	let id = callIds.of(whole)
	if (id === undefined) {
		id = whole.pipeline.runtime.createId?.() ?? randomUuid()
		callIds.set(whole, id)
	}
	return id
}
