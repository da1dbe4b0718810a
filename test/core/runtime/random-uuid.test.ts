import { expect, it, vi } from 'vitest'
import { randomUuid } from '../../../src/core/runtime/system.ts'

const UUID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/

it('is a random UUID', () => {
	expect(randomUuid()).toMatch(UUID)
	expect(randomUuid()).not.toBe(randomUuid())
})

it('is also a UUID on a page without TLS, where randomUUID is missing', () => {
	const { crypto } = globalThis
	vi.stubGlobal('crypto', {
		getRandomValues: (bytes: Uint8Array<ArrayBuffer>) => crypto.getRandomValues(bytes),
	})
	const keys = Array.from({ length: 1_000 }, randomUuid)
	for (const key of keys) expect(key).toMatch(UUID)
	expect(new Set(keys).size).toBe(1_000)
})
