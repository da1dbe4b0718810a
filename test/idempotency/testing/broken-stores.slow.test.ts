/** The suite finds the mistakes that a store can make: each of these stores breaks one rule, and fails. */
import { describe, expect, test } from 'vitest'
import { memoryIdempotencyStore } from '../../../src/idempotency/store/memory-store.ts'
import type {
	IdempotencyClaimRef,
	IdempotencyClaimRequest,
	IdempotencyStore,
	StoredResponse,
} from '../../../src/idempotency/store/store.ts'
import { idempotencyStoreConformance } from '../../../src/idempotency/testing/index.ts'
import { openMemory } from '../store/open-memory.ts'

/** A store with some methods replaced. */
type Break = (store: IdempotencyStore) => Partial<IdempotencyStore>

const broken = (change: Break) =>
	idempotencyStoreConformance(() =>
		openMemory((store) => {
			const changed = change(store)
			return new Proxy(store, {
				get(target, name) {
					const method = Reflect.get(changed, name) ?? Reflect.get(target, name)
					return typeof method === 'function' ? method.bind(target) : method
				},
			})
		}),
	)

/** Returns the error of the first case that fails. */
async function firstFailure(change: Break): Promise<unknown> {
	for (const { run } of broken(change)) {
		try {
			await run()
		} catch (error) {
			return error
		}
	}
	return undefined
}

/** Remembers the last value for each id. */
const byId = <T>() => new Map<string, T>()

const withResponse =
	(edit: (response: StoredResponse) => StoredResponse): Break =>
	(store) => ({
		complete: (claim, response, retentionMs) =>
			store.complete(claim, response && edit(response), retentionMs),
	})

const withRequest =
	(edit: (request: IdempotencyClaimRequest) => Partial<IdempotencyClaimRequest>): Break =>
	(store) => ({ claim: (request) => store.claim({ ...request, ...edit(request) }) })

/** A write that ignores whose claim it is. */
const unfenced =
	(operation: 'heartbeat' | 'saveStep' | 'complete' | 'release'): Break =>
	(store) => {
		const tokens = byId<string>()
		return {
			async claim(request) {
				const result = await store.claim(request)
				if (result.kind === 'claimed') tokens.set(request.id, request.token)
				return result
			},
			[operation]: (claim: IdempotencyClaimRef, ...rest: never[]) => {
				const write = store[operation].bind(store) as (
					claim: IdempotencyClaimRef,
					...rest: never[]
				) => boolean
				return write({ id: claim.id, token: tokens.get(claim.id) ?? claim.token }, ...rest)
			},
		}
	}

const BROKEN: Readonly<Record<string, Break>> = {
	'heartbeat without fencing': unfenced('heartbeat'),
	'saveStep without fencing': unfenced('saveStep'),
	'complete without fencing': unfenced('complete'),
	'release without fencing': unfenced('release'),
	'writes that always report success': (store) => ({
		async complete(...args) {
			await store.complete(...args)
			return true
		},
	}),
	'a claim in two steps, which lets two win': (store) => {
		let running = 0
		return {
			async claim(request) {
				const isAlone = running++ === 0
				await Promise.resolve()
				const result = await store.claim(request)
				running--
				return isAlone || result.kind !== 'running' ? result : { kind: 'claimed', steps: {} }
			},
		}
	},
	'a mismatch that is not detected': withRequest(() => ({ fingerprint: 'same' })),
	'a completed response that is revealed to another request': (store) => {
		const first = byId<string>()
		return {
			async claim(request) {
				const isCompleted = (await store.find(request.id))?.state === 'completed'
				const fingerprint = isCompleted ? first.get(request.id) : undefined
				if (!first.has(request.id)) first.set(request.id, request.fingerprint)
				return store.claim({ ...request, fingerprint: fingerprint ?? request.fingerprint })
			},
		}
	},
	'a mismatch only while the key is running or completed': (store) => ({
		async claim(request) {
			const result = await store.claim(request)
			const found = result.kind === 'mismatch' ? await store.find(request.id) : undefined
			return found && (found.state === 'released' || Number(found.leaseLeftMs) < 0)
				? { kind: 'claimed', steps: {} }
				: result
		},
	}),
	'a mismatch that reveals the state': (store) => ({
		async claim(request) {
			const result = await store.claim(request)
			if (result.kind !== 'mismatch') return result
			return { ...result, state: (await store.find(request.id))?.state }
		},
	}),
	'leases that never end': withRequest(() => ({ leaseMs: Number.MAX_SAFE_INTEGER })),
	'leases that end immediately': withRequest(() => ({ leaseMs: 0 })),
	'an abandoned key that is always taken over': withRequest(() => ({ abandoned: 'rerun' })),
	'an abandoned key that is never taken over': withRequest(() => ({ abandoned: 'reject' })),
	'a heartbeat that does nothing': () => ({ heartbeat: () => true }),
	'a heartbeat that always fails': () => ({ heartbeat: () => false }),
	'a repeated claim that finds itself running': withRequest(({ token }) => ({
		token: `${token}${counter++}`,
	})),
	'the rest of the lease without the time that passed': (store) => ({
		async claim(request) {
			const result = await store.claim(request)
			return result.kind === 'running' ? { ...result, leaseLeftMs: request.leaseMs } : result
		},
	}),
	'the token of the request instead of the one that holds the key': (store) => ({
		async claim(request) {
			const result = await store.claim(request)
			return result.kind === 'running' ? { ...result, token: request.token } : result
		},
	}),
	'a claim of an ended process that is held until its lease ends': withRequest(() => ({
		endedToken: undefined,
	})),
	'steps that are lost': (store) => ({
		async claim(request) {
			const result = await store.claim(request)
			return result.kind === 'claimed' ? { kind: 'claimed', steps: {} } : result
		},
	}),
	'steps that are never stored': () => ({ saveStep: () => true }),
	'steps in an object with inherited names': (store) => ({
		async claim(request) {
			const result = await store.claim(request)
			if (result.kind !== 'claimed') return result
			const steps: Record<string, string> = {}
			for (const [name, value] of Object.entries(result.steps)) steps[name] = value
			return { kind: 'claimed', steps }
		},
	}),
	'a release that locks the key': () => ({ release: () => true }),
	'a release that keeps a key without steps': (store) => ({
		async release(claim) {
			await store.saveStep(claim, 'released', '{}')
			return store.release(claim)
		},
	}),
	'a retention from the claim': (store) => {
		const retentions = byId<number>()
		return {
			claim(request) {
				retentions.set(request.id, request.retentionMs)
				return store.claim(request)
			},
			complete: (claim, response) => store.complete(claim, response, retentions.get(claim.id) ?? 0),
		}
	},
	'a retention without end': (store) => ({
		complete: (claim, response) => store.complete(claim, response, Number.MAX_SAFE_INTEGER),
	}),
	'keys that are lost when their lease ends': withRequest(() => ({ retentionMs: 0 })),
	'purge without a limit': (store) => ({ purge: () => store.purge(Number.MAX_SAFE_INTEGER) }),
	'purge that deletes nothing': () => ({ purge: () => 0 }),
	'resolve that does nothing': () => ({ resolve: () => false }),
	'resolve of every key': (store) => ({
		async resolve(...args) {
			await store.resolve(...args)
			return true
		},
	}),
	'resolve that ignores the decision for a rerun': (store) => ({
		resolve: (id, response, retentionMs) =>
			store.resolve(id, response ?? { status: 500, headers: [], body: new Uint8Array() }, retentionMs),
	}),
	'find without steps': (store) => ({
		async find(id) {
			const found = await store.find(id)
			return found && { ...found, steps: [] }
		},
	}),
	'find of expired keys': (store) => {
		const seen = byId<Awaited<ReturnType<IdempotencyStore['find']>>>()
		return {
			async find(id) {
				const found = (await store.find(id)) ?? seen.get(id)
				seen.set(id, found)
				return found
			},
			async complete(claim, ...rest) {
				const isWritten = await store.complete(claim, ...rest)
				seen.set(claim.id, await store.find(claim.id))
				return isWritten
			},
		}
	},
	'bodies as text': withResponse((response) => ({
		...response,
		body: new TextEncoder().encode(new TextDecoder().decode(response.body)),
	})),
	'bodies that end at a NUL': withResponse((response) => {
		const end = response.body.indexOf(0)
		return { ...response, body: end < 0 ? response.body : response.body.slice(0, end) }
	}),
	'bodies of the whole buffer': withResponse((response) => ({
		...response,
		body: new Uint8Array(response.body.buffer),
	})),
	'headers as an object': withResponse((response) => ({
		...response,
		headers: Object.entries(Object.fromEntries(response.headers)),
	})),
	'headers as Latin-1': withResponse((response) => ({
		...response,
		headers: response.headers.map(([name, value]) => [name, Buffer.from(value, 'latin1').toString('latin1')]),
	})),
	'a response without its status': withResponse((response) => ({ ...response, status: 200 })),
	'a transaction that ignores errors': (store) => ({
		transaction: async (run) =>
			run(undefined, (...args) => store.complete(...args)).catch(() => undefined as never),
	}),
	'a transaction that does not roll back': (store) => ({
		transaction: (run) => run(undefined, (...args) => store.complete(...args)),
	}),
	'a transaction that does not complete': () => ({
		transaction: (run) => run(undefined, () => true),
	}),
}

let counter = 0

describe('the suite rejects a store with', () => {
	test.each(Object.entries(BROKEN))('%s', async (_, change) => {
		expect(await firstFailure(change)).toMatchObject({ message: expect.stringContaining('expected') })
	})
})

test('the suite accepts the store that the broken ones are made of', async () => {
	expect(await firstFailure(() => ({}))).toBeUndefined()
})

test('a case names what it expected and what it got', async () => {
	const [first] = broken(() => ({ claim: () => ({ kind: 'unstored' }) }))
	await expect(first?.run()).rejects.toThrow(
		'the claim: expected {"kind":"claimed","steps":{}}, got {"kind":"unstored"}',
	)
})

test('a store without a clock to advance is tested with short leases and real waits', async () => {
	const cases = idempotencyStoreConformance(() => ({ ...openRealTime() }))
	const leases = cases.filter(({ name }) => name.startsWith('leases:') || name.startsWith('purge:'))
	await Promise.all(leases.map(({ run }) => run()))
})

const openRealTime = () => ({ store: memoryIdempotencyStore(), close() {} })
