import { expect, test } from 'vitest'
import { circuitBreaker } from 'yaoki'
import type { ObservedPipeline } from '../../../src/core/observe/observe.ts'
import { PipelineObservers } from '../../../src/core/observe/pipeline-observers.ts'

function createPipeline() {
	const breaker = circuitBreaker()
	const pipeline: ObservedPipeline = {
		compiled: breaker.compiled(),
		listen: (listener, filter) => breaker.listen(listener, filter),
	}
	return { breaker, pipeline }
}

function setUp() {
	const pipelines = new Set<ObservedPipeline>()
	const observers = new PipelineObservers(() => pipelines)
	const add = () => {
		const created = createPipeline()
		pipelines.add(created.pipeline)
		observers.add(created.pipeline)
		return created
	}
	const seen: string[] = []
	const observe = () =>
		observers.observe(({ listen }) => {
			const end = listen(({ type }) => seen.push(type))
			return () => {
				seen.push('end')
				end()
			}
		})
	return { pipelines, add, observe, seen }
}

test('events of pipelines that exist, and of later ones, are observed until the end', () => {
	const { add, observe, seen } = setUp()
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
	const { pipelines, add, observe, seen } = setUp()
	const { breaker, pipeline } = add()
	const end = observe()
	pipelines.delete(pipeline)
	const release = breaker.isolate()
	expect(seen).toEqual(['state_change'])
	end()
	release()
	expect(seen).toEqual(['state_change'])
})
