import { expect, test } from 'vitest'
import {
	expressIdempotency,
	fastifyIdempotency,
	fetchIdempotency,
	honoIdempotency,
	memoryIdempotencyStore,
	nodeIdempotency,
} from 'yaoki/idempotency'

test.each<readonly [string, (...args: never[]) => unknown]>([
	['express', expressIdempotency],
	['fastify', fastifyIdempotency],
	['fetch', fetchIdempotency],
	['hono', honoIdempotency],
	['node', nodeIdempotency],
])('the adapter for %s rejects what is not an engine when it is created', (_, create) => {
	const options = { store: memoryIdempotencyStore(), principal: () => 'ada' }
	for (const given of [options, undefined, null, () => options])
		expect(() => Reflect.apply(create, undefined, [given])).toThrow(
			expect.objectContaining({ code: 'YAOKI_INVALID_ARGUMENT', argument: 'engine' }),
		)
})
