import { expect, test } from 'vitest'
import { circuitBreaker } from 'yaoki'
import type { ObservedPipeline } from '../../../src/core/observe/observation.ts'
import { ObservedMembers, observePipelines } from '../../../src/core/observe/observed-members.ts'

function createPipeline() {
	const breaker = circuitBreaker()
	const pipeline: ObservedPipeline = {
		compiled: breaker.compiled(),
		listen: (listener, filter) => breaker.listen(listener, filter),
	}
	return { breaker, pipeline }
}

function setup() {
	const pipelines = new Set<ObservedPipeline>()
	const observed = new ObservedMembers(() => pipelines)
	const add = () => {
		const created = createPipeline()
		pipelines.add(created.pipeline)
		observed.add(created.pipeline)
		return created
	}
	const seen: string[] = []
	const observe = () =>
		observePipelines(observed, ({ listen }) => {
			const end = listen(({ type }) => seen.push(type))
			return () => {
				seen.push('end')
				end()
			}
		})
	return { pipelines, add, observe, seen }
}

test('observes the events of pipelines that exist, and of later ones, until the end', () => {
	const { add, observe, seen } = setup()
	const first = add()
	const end = observe()
	const second = add()
	first.breaker.isolate()
	second.breaker.isolate()
	end()
	expect(seen).toEqual(['state_change', 'state_change', 'end', 'end'])
	add().breaker.isolate()
	expect(seen).toHaveLength(4)
})

test('a pipeline that was evicted emits nothing after the end of the observation', () => {
	const { pipelines, add, observe, seen } = setup()
	const { breaker, pipeline } = add()
	const end = observe()
	pipelines.delete(pipeline)
	const release = breaker.isolate()
	expect(seen).toEqual(['state_change'])
	end()
	release()
	expect(seen).toEqual(['state_change'])
})
