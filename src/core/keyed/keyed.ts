import type { Layer, Seat } from '../engine/call.ts'
import type { CallOptions } from '../engine/call-options.ts'
import { drive } from '../engine/drive.ts'
import { decided } from '../engine/hooks.ts'
import { GO, type Surroundings } from '../engine/layer.ts'
import { seated, type Unseated } from '../engine/plan.ts'
import { Policy } from '../engine/policy.ts'
import type { Changes } from '../engine/policy-options.ts'
import type { Listener } from '../events/events.ts'
import { changed, refuse } from '../options/rules.ts'
import { type KeyedOptions, readKeyedOptions } from './options.ts'
import { type Entry, Registry } from './registry.ts'

/** One key's policy, and its layers as they stand in each place where the registry stands. */
interface Kept<P extends Policy> {
	readonly policy: P
	readonly chains: WeakMap<Seat, { readonly first: Seat | undefined }>
}

/**
 * One policy per key, such as a breaker per host or a bulkhead per tenant: made when the key is first seen, forgotten when it was not
 * used for a while or too many others were.
 *
 * @example
 * const perHost = keyed(({ key }) => key ?? 'default', () => circuitBreaker())
 * await pipeline(perHost, retry()).execute(load, { key: 'api.example.com' })
 * perHost.get('api.example.com')?.currentState
 */
export class Keyed<P extends Policy = Policy> extends Policy {
	readonly #registry: Registry<Kept<P>>
	readonly #layer: Layer
	readonly #make: (key: string) => P
	readonly #listeners = new Set<(policy: P) => void>()
	#options: KeyedOptions

	constructor(keyOf: (call: CallOptions) => string, make: (key: string) => P, options: KeyedOptions = {}) {
		super('keyed', options)
		const { maxKeys, idleMs } = readKeyedOptions(options)
		if (typeof keyOf !== 'function') refuse('keyed, first', keyOf, 'a function of the call')
		if (typeof make !== 'function') refuse('keyed, second', make, 'a function of the key')
		const registry = new Registry<Kept<P>>(maxKeys, idleMs)
		this.#registry = registry
		this.#make = make
		this.#options = options
		this.#layer = {
			drive,
			enter: (call, seat) => {
				const key = decided('the key function', keyOf(call.options ?? {}))
				if (typeof key !== 'string') refuse('the key of a call', key, 'a string')
				const entry = registry.hold(key, call.now(seat.runtime), (name) => this.#keep(name))
				call.next = chainOf(entry.value, seat)
				return call.visit(seat, entry)
			},
			// Until then the key's policy is not forgotten; nor while work goes on that its call did not wait for, as that
			// may still have a slot in a bulkhead.
			leave: (call, seat) => {
				const entry = call.kept(seat) as Entry<Kept<P>>
				const release = () => registry.release(entry, seat.runtime.now())
				for (const { onEnd } of call.aside?.late ?? []) {
					entry.uses++
					onEnd.push(release)
				}
				release()
				return GO
			},
		}
	}

	/** How many keys are remembered. */
	get size(): number {
		return this.#registry.size
	}

	keys(): MapIterator<string> {
		return this.#registry.keys()
	}

	/** Every key with its policy, in the order in which they were made. */
	*entries(): Generator<[key: string, policy: P]> {
		for (const { key, value } of this.#registry.entries()) yield [key, value.policy]
	}

	/** The policy of a key, if the key is remembered. */
	get(key: string): P | undefined {
		return this.#registry.peek(key)?.policy
	}

	/** Forgets a key. Calls under way go on; the next call of that key gets a new policy. */
	delete(key: string): boolean {
		return this.#registry.delete(key)
	}

	/** Other bounds from now on. The policies of keys that still fit stay as they are. */
	update(options: Changes<KeyedOptions>): void {
		const next = changed(this.#options, options)
		const { maxKeys, idleMs } = readKeyedOptions(next)
		this.#options = next
		this.#registry.resize(maxKeys, idleMs)
	}

	/** Listens to the policies of all keys, those to come among them. */
	override subscribe(listener: Listener): () => void {
		// By policy, for `make` may give several keys the same one; weakly, for keys come and go.
		const ends = new WeakMap<Policy, () => void>()
		let isHeard = true
		const listen = (policy: P) => {
			for (const leaf of policy.leaves())
				if (!ends.has(leaf))
					ends.set(
						leaf,
						leaf.subscribe((event) => {
							if (isHeard) listener(event)
						}),
					)
		}
		for (const [, policy] of this.entries()) listen(policy)
		this.#listeners.add(listen)
		return () => {
			isHeard = false
			this.#listeners.delete(listen)
			for (const [, policy] of this.entries()) for (const leaf of policy.leaves()) ends.get(leaf)?.()
		}
	}

	/** @internal */
	override seats(around: Surroundings): readonly Unseated[] {
		const { runtime, classify } = this.surroundings(around)
		return [{ layer: this.#layer, runtime, classify }]
	}

	/** @internal What a key's policy would be, for who wants to look at one. */
	sample(): P {
		return this.#make('sample')
	}

	#keep(key: string): Kept<P> {
		const policy = this.#make(key)
		if (!(policy instanceof Policy)) refuse(`the policy of key '${key}'`, policy, 'a policy')
		for (const listen of this.#listeners) listen(policy)
		return { policy, chains: new WeakMap() }
	}
}

/** The layers of a key's policy, and inside of them what comes after the registry in its pipeline. */
function chainOf({ policy, chains }: Kept<Policy>, seat: Seat): Seat | undefined {
	let chain = chains.get(seat)
	if (!chain) {
		const after: Seat[] = []
		for (let { next } = seat; next; next = next.next) after.push(next)
		chain = { first: seated([...policy.seats(seat), ...after], seat) }
		chains.set(seat, chain)
	}
	return chain.first
}

/**
 * One policy per key: `new Keyed(keyOf, make, options)`. In a pipeline it stands for the policy of the call's key.
 *
 * @example
 * const perTenant = keyed(({ key }) => key ?? 'anonymous', () => bulkhead({ maxConcurrent: 5 }))
 */
export function keyed<P extends Policy>(
	keyOf: (call: CallOptions) => string,
	make: (key: string) => P,
	options?: KeyedOptions,
): Keyed<P> {
	return new Keyed(keyOf, make, options)
}
