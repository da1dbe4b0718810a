/** A store with one planted fault fails the case that names the broken rule, and no case of another rule. */
import { describe, expect, test } from 'vitest'
import type { IdempotencyStore } from '../../../src/idempotency/store/store.ts'
import {
	type IdempotencyConformanceCase,
	idempotencyStoreConformance,
} from '../../../src/idempotency/testing/index.ts'
import { openMemory } from '../store/open-memory.ts'

/** Returns the names of the cases that fail for a store with these methods. */
async function failures(plant: (store: IdempotencyStore) => Partial<IdempotencyStore>): Promise<string[]> {
	const cases = idempotencyStoreConformance(() =>
		openMemory((store) => {
			const planted = plant(store)
			return new Proxy(store, {
				get(target, name) {
					const member = Reflect.get(planted, name) ?? Reflect.get(target, name)
					return typeof member === 'function' ? member.bind(target) : member
				},
			})
		}),
	)
	const fails = async ({ run }: IdempotencyConformanceCase) =>
		run().then(
			() => false,
			() => true,
		)
	const results = await Promise.all(cases.map(async (one) => ((await fails(one)) ? [one.name] : [])))
	return results.flat()
}

/** Returns the titles of the groups, before the colon of a name. */
const titlesOf = (names: readonly string[]): string[] => [
	...new Set(names.map((name) => name.split(':')[0] ?? '')),
]

describe('the conformance suite', () => {
	test('accepts the store in memory', async () => {
		expect(await failures(() => ({}))).toEqual([])
	})

	test('fails the case of purge in batches for a purge that ignores its limit', async () => {
		const names = await failures((store) => ({ purge: () => store.purge(Number.MAX_SAFE_INTEGER) }))
		expect(names).toContain('purge: purge deletes expired keys in batches')
		expect(titlesOf(names)).toEqual(['purge'])
	})

	test('fails the case of a forced deletion for a delete that ignores isForced', async () => {
		const names = await failures((store) => ({ delete: (id) => store.delete(id) }))
		expect(names).toContain('delete: a running key is not deleted unless it is forced')
		expect(titlesOf(names)).toEqual(['delete'])
	})

	test('fails the cases of an operator for a resolve that changes nothing', async () => {
		const names = await failures(() => ({ resolve: () => false }))
		expect(names).toContain('resolve: an abandoned key that is resolved with a response is completed with it')
		expect(titlesOf(names)).not.toContain('claims')
	})

	test('fails only cases of steps and releases for a store that loses a step', async () => {
		const names = await failures((store) => ({
			saveStep: (claim, name, value) => (name === 'mail' ? true : store.saveStep(claim, name, value)),
		}))
		expect(names).toContain('steps: steps are kept over a takeover')
		expect(names).not.toContain('steps: steps are kept over a release')
		expect(titlesOf(names)).toEqual(['steps', 'find'])
	})

	test('fails the case of the buffer for a store that keeps the buffer of the caller', async () => {
		const bodies = new Map<string, Uint8Array>()
		const names = await failures((store) => ({
			complete(claim, response, retentionMs) {
				const isWritten = store.complete(claim, response, retentionMs)
				if (response && isWritten) bodies.set(claim.id, response.body)
				return isWritten
			},
			async claim(request) {
				const result = await store.claim(request)
				const body = bodies.get(request.id)
				if (result.kind !== 'completed' || !body) return result
				return { ...result, response: { ...result.response, body } }
			},
		}))
		expect(names).toContain('responses: a stored body does not change with the buffer that was given')
	})

	test('fails exactly one case for a claim that reports another token', async () => {
		const names = await failures((store) => ({
			async claim(request) {
				const result = await store.claim(request)
				return result.kind === 'running' ? { ...result, token: 'another' } : result
			},
		}))
		expect(names).toEqual([
			'claims: a claimed key is running for another claim, with the rest of its lease and its token',
		])
	})

	test('reports what a case expected and what it got', async () => {
		const cases = idempotencyStoreConformance(() =>
			openMemory((store) => Object.assign(store, { purge: () => 7 })),
		)
		const empty = cases.find(({ name }) => name === 'purge: an empty store has nothing to purge')
		await expect(empty?.run()).rejects.toThrow('the result of purge: expected 0, got 7')
	})
})

describe('a case', () => {
	const findOf = (cases: readonly IdempotencyConformanceCase[]) => {
		const found = cases.find(({ name }) => name.startsWith('find: find returns undefined'))
		if (!found) throw new Error('no such case')
		return found
	}

	test('opens a store of its own, and closes it', async () => {
		const log: string[] = []
		const cases = idempotencyStoreConformance(() => {
			log.push('open')
			return { ...openMemory(), close: () => void log.push('close') }
		})
		expect(log).toEqual([])
		await findOf(cases).run()
		await findOf(cases).run()
		expect(log).toEqual(['open', 'close', 'open', 'close'])
	})

	test('closes its store also if it fails', async () => {
		let closed = 0
		const broken = openMemory((store) =>
			Object.assign(store, { find: () => Promise.reject(new Error('down')) }),
		)
		const cases = idempotencyStoreConformance(() => ({ ...broken, close: () => void closed++ }))
		await expect(findOf(cases).run()).rejects.toThrow('down')
		expect(closed).toBe(1)
	})

	test('has a name that no other case has', () => {
		const names = idempotencyStoreConformance(() => openMemory()).map(({ name }) => name)
		expect(names.length).toBeGreaterThan(100)
		expect(new Set(names).size).toBe(names.length)
	})
})
