import type { Policy } from '../engine/policy.ts'
import type { PolicyListener } from '../events/events.ts'
import { combineEnds } from './combine-ends.ts'
import type { EventFilter } from './observe.ts'

/**
 * Subscribes to the events of all policies of a pipeline, whichever pipeline the call runs through, except those that another pipeline
 * reports. Returns a function that unsubscribes.
 */
export const listenExcept = (
	pipeline: Policy<unknown>,
	reported: readonly unknown[],
	listener: PolicyListener,
	filter?: EventFilter,
): (() => void) =>
	combineEnds(
		pipeline
			.leaves()
			.filter((leaf) => !reported.includes(leaf))
			.map((leaf) => leaf.listen(listener, { ...filter, onlyPipeline: undefined })),
	)
