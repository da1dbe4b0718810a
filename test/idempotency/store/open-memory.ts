import { virtualRuntime } from 'yaoki/testing'
import { memoryIdempotencyStore } from '../../../src/idempotency/store/memory-store.ts'
import type { IdempotencyStore } from '../../../src/idempotency/store/store.ts'
import type { IdempotencyStoreUnderTest } from '../../../src/idempotency/testing/index.ts'

/** A store in memory with a virtual clock; `change` makes another one of it. */
export function openMemory(
	change = (store: IdempotencyStore): IdempotencyStore => store,
): IdempotencyStoreUnderTest {
	const runtime = virtualRuntime()
	return {
		store: change(memoryIdempotencyStore({ runtime })),
		advance: (ms) => runtime.advance(ms),
		close() {},
	}
}
