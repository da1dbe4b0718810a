/** Stores that show what an adapter does with them. */
import { type IdempotencyStore, memoryIdempotencyStore } from '../../../src/idempotency/index.ts'

/** A memory store with other methods. */
export function storeWith(
	methods: Partial<IdempotencyStore>,
	base: IdempotencyStore = memoryIdempotencyStore(),
): IdempotencyStore {
	return new Proxy(base, {
		get: (target, name) => {
			const own = Reflect.get(methods, name)
			if (own) return own
			const value: unknown = Reflect.get(target, name)
			return typeof value === 'function' ? value.bind(target) : value
		},
	})
}

/** A store that claims when `gate` resolves, and a promise of the first time that it is asked. */
export function waitingStore(base: IdempotencyStore, gate: Promise<void>) {
	const asked = Promise.withResolvers<void>()
	const claim: IdempotencyStore['claim'] = async (request) => {
		asked.resolve()
		await gate
		return base.claim(request)
	}
	return { store: storeWith({ claim }, base), asked: asked.promise }
}

/** A store and the number of its claims, and a promise of the first end of a claim. */
export function observedStore(base: IdempotencyStore = memoryIdempotencyStore()) {
	const seen = { claims: 0, releases: 0, completions: 0 }
	const ended = Promise.withResolvers<void>()
	const store = storeWith(
		{
			claim: (request) => {
				seen.claims++
				return base.claim(request)
			},
			complete: async (...args) => {
				const result = await base.complete(...args)
				seen.completions++
				ended.resolve()
				return result
			},
			release: async (claim) => {
				const result = await base.release(claim)
				seen.releases++
				ended.resolve()
				return result
			},
		},
		base,
	)
	return { store, seen, ended: ended.promise }
}

/** A call of a store. */
interface StoreCall {
	readonly method: string
	readonly args: readonly unknown[]
}

/** A store and all calls of its methods. */
export function recordingStore(base: IdempotencyStore = memoryIdempotencyStore()) {
	const calls: StoreCall[] = []
	const store = new Proxy(base, {
		get: (target, name) => {
			const value: unknown = Reflect.get(target, name)
			if (typeof value !== 'function') return value
			return (...args: unknown[]) => {
				calls.push({ method: String(name), args })
				return value.apply(target, args)
			}
		},
	})
	return { store, calls }
}

/** A memory store whose "transactions" write directly. They pass `'tx'`. */
export function transactionalStore(): IdempotencyStore {
	const base = memoryIdempotencyStore()
	return storeWith({ transaction: (run) => run('tx', (...args) => base.complete(...args)) }, base)
}
