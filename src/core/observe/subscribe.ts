import type { PolicyListener } from '../events/events.ts'
import { notify } from '../options/hooks.ts'
import type { EventFilter, ObservedPipeline } from './observation.ts'
import { callEvents, observeCalls } from './observe-calls.ts'

/** Subscribes to a pipeline, by default at level `all`. Returns a function that unsubscribes. */
export function subscribeTo(
	{ compiled, listen }: ObservedPipeline,
	listener: PolicyListener,
	filter: EventFilter = {},
): () => void {
	const end = listen(listener, filter)
	if (filter.level === 'notable') return end
	const guarded = callEvents((event) => notify('a listener', listener, event))
	return combineEnds([end, observeCalls(compiled, guarded)])
}

/**
 * Subscribes to policies, whichever pipeline the call runs through, except those that another pipeline
 * reports. Returns a function that unsubscribes.
 */
export const listenExcept = (
	policies: readonly Pick<ObservedPipeline, 'listen'>[],
	reported: readonly unknown[],
	listener: PolicyListener,
	filter?: EventFilter,
): (() => void) =>
	combineEnds(
		policies
			.filter((policy) => !reported.includes(policy))
			.map((policy) => policy.listen(listener, { ...filter, onlyPipeline: undefined })),
	)

/** Returns a function that calls all of these, each once. */
export const combineEnds = (ends: (() => void)[]) => (): void => {
	for (const end of ends.splice(0)) end()
}
